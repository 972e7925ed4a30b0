"""Plans: what the driver decides that a micro-batch shall read.

Each batch of a query has one, of the batch's own number, written before Spark runs it: a
batch that comes again after a crash reads the same. A plan lists what each task reads of
its source topics; a task without slices is only called, for its wall-clock work. It names
the commit that it follows. The newest plan also says where planning goes on.

A batch that is found to hold more bytes than allowed, before it was committed, gets a smaller
plan: a revision. The newest revision counts. So does one that is told to read other versions of
global tables, because those that it names are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kstreams.checkpoint.planning.global_table_pins import Pin, Pins
from kstreams.ids import TopicPartition, parse_keys, text_keys
from kstreams.state.log.commits import CommitName
from kstreams.state.log.fields import MOST, Fields, checked_integer, checked_text
from kstreams.task.task_limits import Allowance
from kstreams.task.times.holding import Holding

__all__ = ("Plan", "Slice", "positions_in")


@dataclass(frozen=True)
class Slice:
    """Records of one source partition: `from_offset <= offset < to_offset`.

    Attributes:
        entry: Name of the source node.
        topic: Name of the topic.
        partition: Partition of the topic.
        from_offset: The first offset.
        to_offset: The offset after the last one.
        segment: Name of the embedded segment that holds them, or the place in a log of another
            kind; empty on Kafka.
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

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that it is of."""
        return TopicPartition(self.topic, self.partition)

    def until(self, offset: int) -> Slice:
        """Return what of it comes before an offset; nothing, if all of it comes after."""
        end = min(self.to_offset, max(offset, self.from_offset))
        return self if end == self.to_offset else replace(self, to_offset=end)

    def to_json(self) -> list[Any]:
        """Return plain data."""
        place = [self.entry, self.topic, self.partition]
        return [*place, self.from_offset, self.to_offset, self.segment]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Slice:
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
        entry, topic, partition, start, end, segment = data
        found = cls(
            checked_text(entry, "the source of a slice"),
            checked_text(topic, "the topic of a slice"),
            checked_integer(partition, "the partition of a slice"),
            checked_integer(start, "the start of a slice"),
            checked_integer(end, "the end of a slice"),
            checked_text(segment, "the segment of a slice"),
        )
        if found.from_offset > found.to_offset:
            raise ValueError(f"a slice ends at {end}, before it begins at {start}")
        return found


@dataclass(frozen=True)
class Plan:
    """One batch.

    Attributes:
        tasks: Slices to read, by stage number and task; empty for a mere call.
        positions: Where the next plan begins in each partition.
        wall_ms: Wall time of the batch, for all its tasks.
        since_ms: Wall time at which this run of the app began: no idleness before counts.
        close_windows: Whether the tasks close what is open.
        after: The commit that it follows; None when there is none, or none is recorded.
        digest: Its own, once it is recorded.
        topics: Id of each topic that the positions are in; without those that have none.
        cuts: By stage number and task, the revision of the plan in which the task got less
            to read, or other global tables; empty in the first plan of a batch.
        globals: The versions of global tables that it reads.
        horizon: All records before this time are read by then, and none after it, ms since the
            epoch; None where the batch was not cut in time.
        holding: What the tasks hold back; None: nothing.
        takeover: Id of the driver that takes over by it; empty for the plan of a batch.
        kept: Numbers of the plans that clean-up leaves alone; see `kstreams.checkpoint.takeover`.
        ahead: Whether it was written beside the commit that it follows: then it counts only
            where that very commit is in the log.
        limits: By limit and task, how many records the task may let pass; empty in the first plan
            of a batch, which shares what is left.
        voids: How many plans of its number came before it that never counted.
    """

    tasks: Mapping[tuple[int, int], Sequence[Slice]]
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    wall_ms: int = 0
    since_ms: int = 0
    close_windows: bool = False
    after: CommitName | None = None
    digest: str = field(default="", compare=False)
    topics: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[tuple[int, int], int] = field(default_factory=dict)
    globals: Pins = field(default_factory=dict)
    horizon: int | None = None
    holding: Holding | None = None
    takeover: str = ""
    kept: tuple[int, ...] = ()
    ahead: bool = False
    limits: Mapping[str, Mapping[int, Allowance]] = field(default_factory=dict)
    voids: int = field(default=0, compare=False)

    @property
    def revision(self) -> int:
        """How often the batch was planned again."""
        return max(self.cuts.values(), default=0)

    @property
    def record_count(self) -> int:
        """How many records the batch reads at most."""
        return sum(len(each) for slices in self.tasks.values() for each in slices)

    def counts_after(self, commit: CommitName | None) -> bool:
        """Tell whether the plan counts, now that a commit is known to come before it.

        Args:
            commit: The one of the batch before; None if there is none, or it is not known.
        """
        return not self.ahead or commit is None or self.after == commit

    def granting(
        self, limits: Mapping[str, Mapping[int, Allowance]], tasks: Iterable[tuple[int, int]]
    ) -> Plan:
        """Return the next revision: the same records, with other shares of limits.

        Args:
            limits: The shares.
            tasks: The tasks whose results change by them.
        """
        cuts = {**self.cuts, **dict.fromkeys(tasks, self.revision + 1)}
        return replace(self, cuts=cuts, limits={**self.limits, **limits})

    def repinned(self, pins: Pins) -> Plan:
        """Return the next revision: the same records, with other versions of global tables."""
        revision = self.revision + 1
        cuts = {**self.cuts, **dict.fromkeys(self.tasks, revision)}
        return replace(self, cuts=cuts, globals=dict(pins))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "positions": text_keys(self.positions),
            "wall": self.wall_ms,
            "since": self.since_ms,
            "close": self.close_windows,
            "topics": dict(self.topics),
            "tasks": [
                [stage, task, [s.to_json() for s in slices]]
                for (stage, task), slices in self.tasks.items()
            ],
            "after": None if self.after is None else self.after.to_json(),
            "cuts": [[*place, revision] for place, revision in self.cuts.items()],
            "globals": {store: pin.to_json() for store, pin in self.globals.items()},
            "horizon": self.horizon,
            "holding": None if self.holding is None else self.holding.to_json(),
            **({"takeover": self.takeover} if self.takeover else {}),
            **({"kept": list(self.kept)} if self.kept else {}),
            **({"ahead": True} if self.ahead else {}),
            **({"limits": _limits_to_json(self.limits)} if self.limits else {}),
        }

    @classmethod
    def from_json(cls, fields: Fields, digest: str = "") -> Plan:
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
        tasks = {
            (checked_integer(stage, "a stage"), checked_integer(task, "a task")): tuple(
                map(Slice.from_json, slices)
            )
            for stage, task, slices in fields.items("tasks")
        }
        cuts = {
            (checked_integer(stage, "a stage"), checked_integer(task, "a task")): checked_integer(
                revision, "a revision"
            )
            for stage, task, revision in (fields.items("cuts") if "cuts" in fields else ())
        }
        return cls(
            tasks,
            positions_in(fields),
            fields.integer("wall"),
            fields.integer("since"),
            fields.flag("close"),
            CommitName.from_json(fields.anything("after")),
            digest,
            fields.texts("topics", {}),
            cuts,
            {store: Pin.from_json(pin) for store, pin in fields.mapping("globals", {}).items()},
            None if fields.anything("horizon") is None else fields.integer("horizon", least=-MOST),
            None
            if (held := fields.anything("holding")) is None
            else Holding.from_json(Fields(held)),
            fields.text("takeover", ""),
            tuple(
                checked_integer(number, "a plan that is kept")
                for number in (fields.items("kept") if "kept" in fields else ())
            ),
            fields.flag("ahead") if "ahead" in fields else False,
            _limits_from_json(fields.mapping("limits", {})),
        )


def _limits_to_json(limits: Mapping[str, Mapping[int, Allowance]]) -> dict[str, list[object]]:
    return {
        node: [[task, *share.to_json()] for task, share in shares.items()]
        for node, shares in limits.items()
    }


def _limits_from_json(data: Mapping[str, object]) -> dict[str, dict[int, Allowance]]:
    limits = Fields(data)
    return {
        node: {
            checked_integer(task, "a task"): Allowance.from_json(share)
            for task, *share in limits.items(node)
        }
        for node in limits.all()
    }


def positions_in(fields: Fields) -> dict[TopicPartition, int]:
    """Return the positions of a plan, or of the beginning of plans."""
    return parse_keys(TopicPartition, fields.integers("positions"))
