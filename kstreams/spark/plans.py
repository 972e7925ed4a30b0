"""Plan files: what the driver decides that a micro-batch shall read.

Each batch of a query has one, of the batch's own number, written before Spark runs it: a
batch that comes again after a crash reads the same. A plan lists what each task reads of
its source topics; a task without slices is only called, for its wall-clock work. The
newest plan also says where planning goes on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kstreams.errors import FencedError

__all__ = ("Plan", "PlanDirectory", "Slice")

_NAME = re.compile(r"(\d+)\.json$")
_BEGIN = "begin.json"


@dataclass(frozen=True)
class Slice:
    """Records of one source partition: `from_offset <= offset < to_offset`.

    Attributes:
        entry: Name of the source node.
        topic: Name of the topic.
        partition: Partition of the topic.
        from_offset: The first offset.
        to_offset: The offset after the last one.
        segment: Name of the embedded segment that holds them; empty on Kafka.
    """

    entry: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    segment: str = ""

    def __len__(self) -> int:
        """Return how many offsets it has."""
        return self.to_offset - self.from_offset

    def to_json(self) -> list[Any]:
        """Return plain data."""
        place = [self.entry, self.topic, self.partition]
        return [*place, self.from_offset, self.to_offset, self.segment]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Slice:
        """Read what `to_json` returned."""
        return cls(*data)


@dataclass(frozen=True)
class Plan:
    """One batch.

    Attributes:
        tasks: Slices to read, by stage number and task; empty for a mere call.
        positions: By `topic/partition`, where the next plan begins.
        wall_ms: Wall time of the batch, for all its tasks.
        since_ms: Wall time at which this run of the app began: no idleness before counts.
        close_windows: Whether the tasks close what is open.
    """

    tasks: Mapping[tuple[int, int], Sequence[Slice]]
    positions: Mapping[str, int] = field(default_factory=dict)
    wall_ms: int = 0
    since_ms: int = 0
    close_windows: bool = False

    @property
    def record_count(self) -> int:
        """How many records the batch reads at most."""
        return sum(len(each) for slices in self.tasks.values() for each in slices)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "positions": dict(self.positions),
            "wall": self.wall_ms,
            "since": self.since_ms,
            "close": self.close_windows,
            "tasks": [
                [stage, task, [s.to_json() for s in slices]]
                for (stage, task), slices in self.tasks.items()
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """Read what `to_json` returned."""
        tasks = {
            (stage, task): tuple(map(Slice.from_json, slices))
            for stage, task, slices in data["tasks"]
        }
        return cls(tasks, data["positions"], data["wall"], data["since"], data["close"])


class PlanDirectory:
    """The plans of one query."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def begin(self, positions: Mapping[str, int]) -> dict[str, int]:
        """Decide once where a query begins; return what was decided first.

        So a source that begins at the end of its topic, or at a time, begins there still
        when the app is started again before its first batch.
        """
        file = self.path / _BEGIN
        if not file.exists():
            self._create(file, json.dumps(dict(positions)))
        return dict(json.loads(file.read_text()))

    def numbers(self) -> list[int]:
        """Return the numbers of the plans that are still there, rising."""
        found = (_NAME.match(entry.name) for entry in os.scandir(self.path))
        return sorted(int(match[1]) for match in found if match)

    def positions(self) -> dict[str, int]:
        """Return where planning goes on, after the newest plan; nothing before any."""
        numbers = self.numbers()
        return dict(self._read(numbers[-1]).positions) if numbers else {}

    def find(self, number: int) -> Plan | None:
        """Return the plan of a batch, or None if none was made."""
        return self._read(number) if self._file(number).exists() else None

    def write(self, number: int, plan: Plan) -> None:
        """Record a plan, durably, under a number that nobody has taken.

        Raises:
            FencedError: Another driver has written this plan.
        """
        if not self._create(self._file(number), json.dumps(plan.to_json())):
            raise FencedError(
                f"plan {number} of {self.path} was written by another driver",
                hint="two apps run on one checkpoint; stop one of them",
            )

    def forget_before(self, number: int) -> None:
        """Delete plans of batches that are long committed; the newest always stays."""
        for old in self.numbers()[:-1]:
            if old < number:
                self._file(old).unlink(missing_ok=True)

    def _create(self, file: Path, text: str) -> bool:
        """Write a file whole, unless it is there; tell whether it was not."""
        temporary = self.path / f".{file.name}-{os.getpid()}.tmp"
        with temporary.open("w") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        try:
            os.link(temporary, file)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        return True

    def _read(self, number: int) -> Plan:
        return Plan.from_json(json.loads(self._file(number).read_text()))

    def _file(self, number: int) -> Path:
        return self.path / f"{number:012d}.json"
