"""Plan files: what the driver decides that the next micro-batch shall read.

A query's only file source is a small directory of plans; each file is one batch. Spark
records in its own checkpoint which plan a batch read, so a replay reads the same. A plan
lists segments of embedded topics by task; a task without segments is only called, for
its wall-clock work. Numbers rise without gaps; the newest plan also says where planning
goes on. Spark takes files in the order of their modification times and forgets the
names of old ones, so a plan's modification time is made from its number.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kstreams.errors import FencedError
from kstreams.spark.envelope import Envelope

__all__ = ("Plan", "PlanDirectory", "Slice")

_NAME = re.compile(r"(\d{12})\.json$")
_FIRST_MTIME = 1_000_000_000


@dataclass(frozen=True)
class Slice:
    """Rows of one segment: `from_offset <= offset < to_offset`."""

    entry: str
    topic: str
    partition: int
    segment: str
    from_offset: int
    to_offset: int

    def to_json(self) -> list[Any]:
        """Return plain data."""
        return [
            self.entry,
            self.topic,
            self.partition,
            self.segment,
            self.from_offset,
            self.to_offset,
        ]

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
        wall_ms: Recorded wall time of the batch; None leaves it to Spark's.
        since_ms: Wall time at which this run of the app began: no idleness before counts.
        close_windows: Whether the tasks close what is open.
    """

    tasks: Mapping[tuple[int, int], Sequence[Slice]]
    positions: Mapping[str, int] = field(default_factory=dict)
    wall_ms: int | None = None
    since_ms: int = 0
    close_windows: bool = False

    @property
    def record_count(self) -> int:
        """How many records the batch reads at most."""
        return sum(s.to_offset - s.from_offset for slices in self.tasks.values() for s in slices)

    def rows(self, number: int, keys: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
        """Return Spark rows of the plan, all addressed to the first stage.

        Args:
            number: The plan's number, which the tasks report back.
            keys: Spark keys of the tasks, by stage.
        """
        rows = []
        for (stage, task), slices in self.tasks.items():
            header = {
                "plan": number,
                "slices": [s.to_json() for s in slices],
                "wall": self.wall_ms,
                "since": self.since_ms,
                "close": self.close_windows,
            }
            payload = Envelope("plan", stage, task, header).pack()
            key = keys[0][task] if stage == 0 else keys[0][task % len(keys[0])]
            rows.append({"stage": stage, "key": key, "payload": base64.b64encode(payload).decode()})
        return rows


class PlanDirectory:
    """The plans of one query, on a file system that driver and Spark share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def numbers(self) -> list[int]:
        """Return the numbers of the plans that are still there, rising."""
        found = (_NAME.match(entry.name) for entry in os.scandir(self.path))
        return sorted(int(match[1]) for match in found if match)

    def last_number(self) -> int:
        """Return the newest plan's number, or -1 before any."""
        numbers = self.numbers()
        return numbers[-1] if numbers else -1

    def positions(self) -> dict[str, int]:
        """Return where planning goes on, after the newest plan."""
        last = self.last_number()
        return {} if last < 0 else self.positions_after(last)

    def positions_after(self, number: int) -> dict[str, int]:
        """Return where planning went on after a plan that is still there."""
        with self._file(number).open() as file:
            return dict(json.loads(file.readline())["positions"])

    def write(self, number: int, plan: Plan, keys: Sequence[Sequence[int]]) -> None:
        """Make a plan visible, whole, under a number that nobody has taken.

        Raises:
            FencedError: Another driver has written this plan.
        """
        lines = [{"positions": dict(plan.positions)}, *plan.rows(number, keys)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        temporary = self.path / f".{number}-{os.getpid()}.tmp"
        with temporary.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.utime(temporary, (_FIRST_MTIME + number, _FIRST_MTIME + number))
        try:
            os.link(temporary, self._file(number))
        except FileExistsError as exc:
            raise FencedError(
                f"plan {number} of {self.path} was written by another driver",
                hint="two apps run on one checkpoint; stop one of them",
            ) from exc
        finally:
            temporary.unlink()

    def forget_before(self, number: int) -> None:
        """Delete plans of batches that are long committed; the newest always stays."""
        for old in self.numbers()[:-1]:
            if old < number:
                self._file(old).unlink(missing_ok=True)

    def _file(self, number: int) -> Path:
        return self.path / f"{number:012d}.json"
