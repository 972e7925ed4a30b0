"""Plans: what the driver decides that a micro-batch shall read.

Each batch of a query has one, of the batch's own number, written before Spark runs it: a
batch that comes again after a crash reads the same. A plan lists what each task reads of
its source topics; a task without slices is only called, for its wall-clock work. It names
the commit that it follows. The newest plan also says where planning goes on.

Each is an object that is created if it is absent, so that of two drivers one wins. A batch
that is found to hold more bytes than allowed, before it was committed, gets a smaller plan: a
revision, an object of its own. The newest revision counts. So does one that is
told to read other versions of global tables, because those that it names are gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kstreams.checkpoint.pins import Pin, Pins
from kstreams.errors import FencedError, ObjectMissingError
from kstreams.ids import TopicPartition, parse_keys, text_keys
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import CommitId
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.fields import MOST, Fields, checked_integer, checked_text
from kstreams.task.holding import Holding

__all__ = ("Plan", "PlanLog", "Slice")

T = TypeVar("T")
"""What an object says."""

_PLAN = re.compile(r"(\d{12})(?:-([1-9]\d*))?\.json")
_BEGIN = "begin.json"
_HINT = (
    "bring it back from a copy of the checkpoint. If there is none: without any of these plans "
    "the app goes on from its last commit."
)


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
    """

    tasks: Mapping[tuple[int, int], Sequence[Slice]]
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    wall_ms: int = 0
    since_ms: int = 0
    close_windows: bool = False
    after: CommitId | None = None
    digest: str = field(default="", compare=False)
    topics: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[tuple[int, int], int] = field(default_factory=dict)
    globals: Pins = field(default_factory=dict)
    horizon: int | None = None
    holding: Holding | None = None
    takeover: str = ""
    kept: tuple[int, ...] = ()

    @property
    def revision(self) -> int:
        """How often the batch was planned again."""
        return max(self.cuts.values(), default=0)

    @property
    def record_count(self) -> int:
        """How many records the batch reads at most."""
        return sum(len(each) for slices in self.tasks.values() for each in slices)

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
            _positions(fields),
            fields.integer("wall"),
            fields.integer("since"),
            fields.flag("close"),
            CommitId.from_json(fields.anything("after")),
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
        )


class PlanLog:
    """The plans of one query, below a prefix of an object store.

    Args:
        objects: Has them.
        prefix: What their names begin with there.
        line: The query's; no other query has the same.
    """

    def __init__(self, objects: ObjectStore, prefix: str = "", line: str = "") -> None:
        self._objects = objects
        self._prefix = prefix
        self._line = line

    def begin(self, positions: Mapping[TopicPartition, int], topics: Mapping[str, str]) -> Plan:
        """Decide once where a query begins; return what was decided first, a plan of nothing.

        So a source that begins at the end of its topic, or at a time, begins there still
        when the app is started again before its first batch.

        Args:
            positions: The first offset to read of each partition.
            topics: Ids of the topics.

        Raises:
            StateCorruptError: What was decided cannot be read.
        """
        decided = {"positions": text_keys(positions), "topics": dict(topics)}
        document = seal(decided, self._document(_BEGIN))
        self._objects.put_if_absent(self._prefix + _BEGIN, document.data)
        return self._begun()

    def begun(self) -> Plan | None:
        """Return where the query was decided to begin, or None where that was not yet.

        Raises:
            StateCorruptError: It cannot be read.
        """
        try:
            return self._begun()
        except ObjectMissingError:
            return None

    def _begun(self) -> Plan:
        def parse(fields: Fields, _: str) -> Plan:
            if "positions" in fields:
                topics = fields.texts("topics", {})
                return Plan({}, _positions(fields), topics=topics)
            return Plan({}, _positions(Fields({"positions": fields.all()})))

        return self._read(_BEGIN, parse)

    def name(self, number: int) -> str:
        """Return the name of a plan's object, its first revision."""
        return self._prefix + _name(number, 0)

    def numbers(self) -> list[int]:
        """Return the numbers of the plans that are still there, rising."""
        return sorted(self._revisions())

    def strays(self) -> list[str]:
        """Return the names of objects among the plans that are none, sorted."""
        return sorted(
            name for name in self._names() if not (_PLAN.fullmatch(name) or name == _BEGIN)
        )

    def newest(self) -> Plan | None:
        """Return the newest plan, or None before any: it says where planning goes on.

        Raises:
            StateCorruptError: It cannot be read.
        """
        revisions = self._revisions()
        if not revisions:
            return None
        number = max(revisions)
        return self._read(_name(number, revisions[number]), Plan.from_json)

    def find(self, number: int) -> Plan | None:
        """Return the plan of a batch, or None if none was made.

        Raises:
            StateCorruptError: It cannot be read.
        """
        try:
            return self.at(number)
        except ObjectMissingError:
            return None

    def at(self, number: int) -> Plan:
        """Return the newest plan of a batch that has one.

        Raises:
            ObjectMissingError: It has none, or none any more.
            StateCorruptError: It cannot be read.
        """
        revision = self._revisions(f"{number:012d}").get(number, 0)
        return self._read(_name(number, revision), Plan.from_json)

    def write(self, number: int, plan: Plan) -> Plan:
        """Record a plan, durably, under a number that no other plan has.

        Returns:
            The plan, with its digest.

        Raises:
            FencedError: Another driver has written this plan.
        """
        return self._record(number, plan, f"plan {number}")

    def replace(self, number: int, plan: Plan) -> Plan:
        """Record the next plan of a batch that was never committed, durably.

        The plan before it stays as it is. So of two drivers that find the same batch too
        large one wins, and what counts is never half-written.

        Args:
            number: The batch.
            plan: Its next revision.

        Returns:
            The plan, with its digest.

        Raises:
            FencedError: Another driver has written this revision.
        """
        return self._record(number, plan, f"revision {plan.revision} of plan {number}")

    def _record(self, number: int, plan: Plan, what: str) -> Plan:
        name = _name(number, plan.revision)
        document = seal(plan.to_json(), self._document(name))
        if not self._objects.put_if_absent(self._prefix + name, document.data):
            raise FencedError(
                f"{what} of {self._objects} was written by another driver",
                hint="two apps run on one checkpoint: the newer one goes on; stop this one.",
            )
        return replace(plan, digest=document.digest)

    def forget_before(self, number: int, *, but: Collection[int] = ()) -> None:
        """Delete plans of batches that are long committed, but some; the newest always stays."""
        revisions = self._revisions()
        self._objects.delete(
            self._prefix + _name(old, revision)
            for old in sorted(revisions)[:-1]
            if old < number and old not in but
            for revision in range(revisions[old], -1, -1)
        )

    def _revisions(self, prefix: str = "") -> dict[int, int]:
        """Return the newest revision of each plan, by number."""
        found: dict[int, int] = {}
        for match in map(_PLAN.fullmatch, self._names(prefix)):
            if match is not None:
                number = int(match[1])
                found[number] = max(found.get(number, 0), int(match[2] or 0))
        return found

    def _names(self, prefix: str = "") -> list[str]:
        start = len(self._prefix)
        return [name[start:] for name in self._objects.list(self._prefix + prefix)]

    def _read(self, name: str, parse: Callable[[Fields, str], T]) -> T:
        data = self._objects.get(self._prefix + name)
        what = f"plan {self._prefix + name!r} in {self._objects}"
        return read_document(data, self._document(name), parse, what=what, hint=_HINT)

    def _document(self, name: str) -> str:
        return f"plans/{self._line}/{name}"


def _name(number: int, revision: int) -> str:
    return f"{number:012d}-{revision}.json" if revision else f"{number:012d}.json"


def _positions(fields: Fields) -> dict[TopicPartition, int]:
    return parse_keys(TopicPartition, fields.integers("positions"))
