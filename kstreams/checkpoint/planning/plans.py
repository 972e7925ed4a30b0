"""Plans: the driver's decisions about the input of micro-batches.

Each batch of a query has a plan with the batch's number, which is stored before Spark runs the
batch: a repeated batch after a crash reads the same input. A plan lists the slices of source topics
for each task; a task without slices is only called for its wall-clock work. The plan names the
previous commit. The newest plan also has the next positions.

An uncommitted batch with more bytes than allowed gets a smaller plan: a revision. The newest
revision is valid. A batch whose planned versions of global tables are deleted gets a revision, too.
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
        entry: The name of the source node.
        topic: The name of the topic.
        partition: The partition of the topic.
        from_offset: The first offset.
        to_offset: The offset after the last record.
        segment: The segment of the embedded log that contains the records, or the position in
            another kind of log; empty on Kafka.
    """

    entry: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    segment: str = ""

    def __len__(self) -> int:
        """Return the number of offsets in the slice."""
        return self.to_offset - self.from_offset

    @property
    def topic_partition(self) -> TopicPartition:
        """The topic and partition of the slice."""
        return TopicPartition(self.topic, self.partition)

    def until(self, offset: int) -> Slice:
        """Return the part before an offset; empty if the slice starts after it."""
        end = min(self.to_offset, max(offset, self.from_offset))
        return self if end == self.to_offset else replace(self, to_offset=end)

    def to_json(self) -> list[Any]:
        """Return plain data for JSON."""
        place = [self.entry, self.topic, self.partition]
        return [*place, self.from_offset, self.to_offset, self.segment]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Slice:
        """Parse the result of `to_json`; raises `ValueError` if the data is invalid."""
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
            raise ValueError(
                f"a slice of {found.topic_partition} ends at offset {end}, before its start at "
                f"{start}"
            )
        return found


@dataclass(frozen=True)
class Plan:
    """The plan of one batch.

    Attributes:
        tasks: The slices to read, by stage number and task; empty for a call without input.
        positions: The offset at which the next plan starts, by partition.
        wall_ms: The wall time of the batch for all its tasks, ms.
        since_ms: The wall time (ms) at the start of the app's run: earlier idleness does not count.
        close_windows: Whether the tasks close their open windows.
        after: The previous commit; None without one, or if it is not recorded.
        digest: The digest of the plan; empty before it is stored.
        topics: The ids of the topics of the positions, as far as topics have ids.
        cuts: By stage number and task, the revision that reduced the task's input or changed its
            global tables; empty in the first plan of a batch.
        globals: The versions of global tables.
        horizon: The time (ms since the Unix epoch) up to which the batch reads all records, and no
            later records; None without such a time.
        holding: The rule for held-back records; None without one.
        takeover: The id of the driver that takes over with this plan; empty for the plan of a
            batch.
        kept: The batch numbers of plans that cleanup retains; see `kstreams.checkpoint.takeover`.
        ahead: Whether the plan was stored during the previous commit: it counts only if that commit
            is in the log.
        limits: The number of records that a task may pass, including earlier batches, by `limit`
            node and task; empty in the first plan of a batch.
        voids: The number of earlier void plans of this batch number.
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
        """The number of revisions after the first plan of the batch."""
        return max(self.cuts.values(), default=0)

    @property
    def record_count(self) -> int:
        """The number of offsets in all slices: the maximum number of records of the batch."""
        return sum(len(each) for slices in self.tasks.values() for each in slices)

    def counts_after(self, commit: CommitName | None) -> bool:
        """Return whether the plan is valid after a commit.

        Args:
            commit: The commit of the previous batch; None if there is none, or it is unknown.
        """
        return not self.ahead or commit is None or self.after == commit

    def granting(
        self, limits: Mapping[str, Mapping[int, Allowance]], tasks: Iterable[tuple[int, int]]
    ) -> Plan:
        """Return the next revision of the plan: the same records, other shares of `limit` nodes.

        Args:
            limits: The number of records that a task may pass, including earlier batches, by
                `limit` node and task.
            tasks: The stage number and task number of each task whose results change.
        """
        cuts = {**self.cuts, **dict.fromkeys(tasks, self.revision + 1)}
        return replace(self, cuts=cuts, limits={**self.limits, **limits})

    def repinned(self, pins: Pins) -> Plan:
        """Return the next revision of the plan, with other versions of global tables."""
        revision = self.revision + 1
        cuts = {**self.cuts, **dict.fromkeys(self.tasks, revision)}
        return replace(self, cuts=cuts, globals=dict(pins))

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
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
        """Parse the result of `to_json`; raises `ValueError` if the data is invalid."""
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
    """Return the positions in the stored fields of a plan or of the first positions."""
    return parse_keys(TopicPartition, fields.integers("positions"))
