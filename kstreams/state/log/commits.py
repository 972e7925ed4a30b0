"""The driver's log of committed batches, which determines the valid versions of task state.

Each batch has one immutable JSON object, which is created only if it is absent, so one of two
drivers wins. Each object names the previous object, so a missing object is noticed. The first
object of the log names its owner. Views, repairs after a crash and cleanup start from this log.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kstreams.errors import FencedError, LogMismatchError, ObjectMissingError
from kstreams.ids import TaskId, TopicPartition, parse_keys, text_keys
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.beginning import Beginning
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.fields import Fields, checked_digest, checked_integer
from kstreams.state.log.loop_objects import LoopPart, object_names, parts_from_json, parts_to_json
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.receipts import Receipts, receipts_from_json, receipts_to_json
from kstreams.state.log.staged import Staged
from kstreams.state.log.stored_names import with_stored_names
from kstreams.state.log.totals import Totals

__all__ = ("SEED", "Commit", "CommitLog", "CommitName", "Output", "SealedCommit")

SEED = -1
"""The batch number of the initial commit, which has the state of a fork or an upgrade."""

_BEGIN = "begin.json"
_COMMIT = re.compile(r"(-\d{19}|\d{20})\.json")
_HINT = "restore it from a copy of the durable log, start from a savepoint, or reset the app."


@dataclass(frozen=True)
class CommitName:
    """The unique name of a commit.

    Attributes:
        batch: The number of the batch.
        digest: The SHA-256 of the commit, hex.
    """

    batch: int
    digest: str

    def to_json(self) -> list[Any]:
        """Return plain data for JSON."""
        return [self.batch, self.digest]

    @classmethod
    def from_json(cls, data: object) -> CommitName | None:
        """Parse the result of `to_json`; None gives None."""
        if data is None:
            return None
        if not isinstance(data, list) or len(data) != 2:  # batch and digest
            raise ValueError(f"expected a batch and a digest as the name of a commit, got {data!r}")
        batch = checked_integer(data[0], "the batch of a commit", least=SEED)
        return cls(batch, checked_digest(data[1], "the digest of a commit"))


@dataclass(frozen=True)
class Output:
    """Rows that a task has staged for a topic partition; they become visible after the commit."""

    topic: str
    partition: int
    staged: str
    producer: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: object) -> Output:
        """Parse the result of `to_json`; raises `ValueError` if the data is invalid."""
        fields = Fields(data)
        return cls(
            fields.text("topic"),
            fields.integer("partition"),
            fields.text("staged"),
            fields.text("producer"),
        )


@dataclass(frozen=True)
class Commit:
    """One committed batch.

    Attributes:
        batch: The number of the batch; `SEED` for the initial state of a query.
        run: The id of the committing driver.
        wall_ms: The time of the commit, ms since the epoch, by the app's clock.
        tasks: The pointer of every existing task, as JSON text.
        outputs: The staged rows to publish to topics.
        positions: The next offset of each partition; offsets in a task's pointer take precedence.
        fingerprint: The `Topology.fingerprint` of the writer.
        after: The previous commit; None for the first commit, or if it is not recorded.
        plan: The digest of the batch's plan; empty if no plan is recorded.
        digest: The digest of the commit; empty before the commit is sealed.
        topics: The ids of the topics of the positions, as far as topics have ids.
        loops: The records that tasks sent to loops: input of the next batch.
        receipts: The receipts of sinks other than topics, for publishing their output.
        staged: The output to publish in one transaction.
        totals: The total counts of the query's nodes; None in commits of earlier versions.
    """

    batch: int
    run: str
    wall_ms: int
    tasks: Mapping[TaskId, str]
    outputs: tuple[Output, ...] = field(default=())
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    fingerprint: str = ""
    after: CommitName | None = None
    plan: str = ""
    digest: str = field(default="", compare=False)
    topics: Mapping[str, str] = field(default_factory=dict)
    loops: tuple[LoopPart, ...] = ()
    receipts: tuple[Receipts, ...] = ()
    staged: Staged = field(default_factory=Staged)
    totals: Totals | None = None

    @property
    def id(self) -> CommitName:
        """The unique name of a sealed commit."""
        return CommitName(self.batch, self.digest)

    @property
    def sent(self) -> tuple[LoopPart, ...]:
        """The `LoopPart`s of records that the batch's tasks sent to loops or staged for topics."""
        return (*self.loops, *self.staged.parts)

    def pointers(self) -> dict[TaskId, Pointer]:
        """Return the pointer of every task."""
        return {task: Pointer.from_json(text) for task, text in self.tasks.items()}

    def objects(self) -> Iterator[str]:
        """Yield the names of all objects that the commit needs."""
        for pointer in self.pointers().values():
            yield from (ref.name for ref in pointer.objects())
        yield from object_names(self.sent)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "batch": self.batch,
            "run": self.run,
            "wall_ms": self.wall_ms,
            "tasks": text_keys(self.tasks),
            "outputs": [output.to_json() for output in self.outputs],
            "positions": text_keys(self.positions),
            "fingerprint": self.fingerprint,
            "topics": dict(self.topics),
            "after": None if self.after is None else self.after.to_json(),
            "plan": self.plan,
            **({"loops": parts_to_json(self.loops)} if self.loops else {}),
            **({"receipts": receipts_to_json(self.receipts)} if self.receipts else {}),
            **({"staged": self.staged.to_json()} if self.staged else {}),
            **({} if self.totals is None else {"totals": self.totals.to_json()}),
        }

    @classmethod
    def from_json(cls, data: object, digest: str = "") -> Commit:
        """Parse the result of `to_json`; raises `ValueError` if the data is invalid."""
        fields = data if isinstance(data, Fields) else Fields(data)
        return cls(
            fields.integer("batch", least=SEED),
            fields.text("run"),
            fields.integer("wall_ms"),
            parse_keys(TaskId, fields.texts("tasks")),
            tuple(Output.from_json(output) for output in fields.items("outputs")),
            parse_keys(TopicPartition, fields.integers("positions", {})),
            fields.text("fingerprint", ""),
            CommitName.from_json(fields.anything("after")),
            fields.text("plan", ""),
            digest,
            fields.texts("topics", {}),
            parts_from_json(fields.items("loops") if "loops" in fields else ()),
            receipts_from_json(fields.items("receipts") if "receipts" in fields else ()),
            Staged.from_json(fields.anything("staged")) if "staged" in fields else Staged(),
            Totals.from_json(fields.anything("totals")) if "totals" in fields else None,
        )


@dataclass(frozen=True)
class SealedCommit:
    """A commit with its digest before the write to a log, so that the next plan can name it.

    Attributes:
        commit: The commit with its digest.
        data: The bytes to write.
    """

    commit: Commit
    data: bytes


class CommitLog:
    """The commits of one query, below a prefix of an object store.

    Args:
        objects: The durable log.
        prefix: The prefix of its objects.
        begun: Whether the log is known to exist; a missing first object is then an error.

    Attributes:
        prefix: The prefix, including the slash.
    """

    def __init__(self, objects: ObjectStore, prefix: str, *, begun: bool = False) -> None:
        self._objects = objects
        self._begun = begun
        self.prefix = prefix.rstrip("/") + "/"

    def begin(self, beginning: Beginning) -> str:
        """Write the first object of the log unless it exists, and return its digest.

        Raises:
            LogMismatchError: The log begins with another object.
        """
        name = self.prefix + _BEGIN
        document = seal(with_stored_names(vars(beginning)), name)
        if not self._objects.put_if_absent(name, document.data):
            found, digest = self.beginning()
            if digest != document.digest:
                raise LogMismatchError(
                    f"the durable log {self._objects} belongs to {found}, expected {beginning}",
                    hint=LogMismatchError.WAY_ON,
                )
        return document.digest

    def beginning(self) -> tuple[Beginning, str]:
        """Return the first object of the log, and its digest.

        Raises:
            LogMismatchError: The log has no first object.
            StateCorruptError: The object is damaged.
        """
        name = self.prefix + _BEGIN
        try:
            data = self._objects.get(name)
        except ObjectMissingError as exc:
            raise self._not_begun() from exc
        what = f"the beginning of the log, {name!r} in {self._objects},"
        return read_document(
            data,
            name,
            lambda fields, digest: (Beginning.from_json(fields), digest),
            what=what,
            hint=_HINT,
            sealed=True,
        )

    def batches(self) -> list[int]:
        """Return the numbers of the retained batches, ascending: the newest ones without a gap.

        The log may have commits before a gap; their state may be deleted.

        Raises:
            LogMismatchError: The log is known to exist, but its first object is missing.
        """
        found = self.numbers()
        first = len(found) - 1
        while first > 0 and found[first - 1] == found[first] - 1:
            first -= 1
        return found[max(first, 0) :]

    def numbers(self) -> list[int]:
        """Return the numbers of all batches that have a commit in the log, ascending.

        Raises:
            LogMismatchError: The log is known to exist, but its first object is missing.
        """
        return [self._batch(name) for name in self._names()]

    def last(self) -> Commit | None:
        """Return the newest commit, or None before the first.

        Raises:
            LogMismatchError: The log is known to exist, but its first object is missing.
            StateCorruptError: The commit is damaged.
        """
        names = self._names()
        return self._read(names[-1]) if names else None

    def at(self, batch: int) -> Commit:
        """Return the commit of a batch.

        Raises:
            ObjectMissingError: The log has no commit of this batch.
            StateCorruptError: The commit is damaged.
        """
        return self._read(self._name(batch))

    def of(self, batches: Iterable[int]) -> Iterator[Commit]:
        """Yield the commits of batches in ascending order; skip batches without a commit."""
        for batch in sorted(batches):
            try:
                yield self.at(batch)
            except ObjectMissingError:
                continue

    def recent(self, count: int, *, last: int | None = None) -> tuple[Commit, ...]:
        """Return the newest `count` retained commits up to batch `last`, oldest first."""
        found = [batch for batch in self.batches() if last is None or batch <= last]
        return tuple(self.of(found[-count:]))

    def all(self) -> Iterator[Commit]:
        """Yield all commits, oldest first; skip commits that are deleted meanwhile."""
        for name in self._names():
            try:
                yield self._read(name)
            except ObjectMissingError:
                continue

    def strays(self) -> list[str]:
        """Return the names of objects below the prefix that do not belong to the log."""
        found = self._objects.list(self.prefix)
        return [name for name in found if not self._is_commit(name) and not self._is_begin(name)]

    def sealed(self, commit: Commit) -> SealedCommit:
        """Return a commit with its digest and its bytes in this log; does not write it."""
        document = seal(commit.to_json(), self._name(commit.batch))
        return SealedCommit(replace(commit, digest=document.digest), document.data)

    def append(self, commit: Commit) -> Commit:
        """Append a commit durably; return the commit with its digest.

        Raises:
            FencedError: Another driver has committed this batch.
        """
        return self.add(self.sealed(commit))

    def add(self, sealed: SealedCommit) -> Commit:
        """Append a sealed commit durably; return the commit.

        Raises:
            FencedError: Another driver has committed this batch.
        """
        commit, name = sealed.commit, self._name(sealed.commit.batch)
        if not self._objects.put_if_absent(name, sealed.data):
            other = self._read(name)
            if other.digest != commit.digest:
                raise FencedError(
                    f"batch {commit.batch} was committed by another driver (run {other.run})",
                    hint="two drivers run the app on one checkpoint: stop one of the drivers.",
                )
        return commit

    def forget_before(self, batch: int, *, but: Collection[int] = ()) -> None:
        """Delete the commits of batches before `batch`, except those of the batches in `but`."""
        names = ((self._batch(name), name) for name in self._names())
        self._objects.delete(name for found, name in names if found < batch and found not in but)

    def _names(self) -> list[str]:
        """Return the names of all commits, in order."""
        found = list(self._objects.list(self.prefix))
        if self._begun and not any(map(self._is_begin, found)):
            raise self._not_begun()
        return list(filter(self._is_commit, found))

    def _is_begin(self, name: str) -> bool:
        return name == self.prefix + _BEGIN

    def _is_commit(self, name: str) -> bool:
        return _COMMIT.fullmatch(name, len(self.prefix)) is not None

    def _name(self, batch: int) -> str:
        return f"{self.prefix}{batch:020d}.json"

    def _batch(self, name: str) -> int:
        return int(name[len(self.prefix) :].removesuffix(".json"))

    def _read(self, name: str) -> Commit:
        def parse(fields: Fields, digest: str) -> Commit:
            found = Commit.from_json(fields, digest)
            if found.batch != self._batch(name):
                raise ValueError(
                    f"it is the commit of batch {found.batch}, which was copied to this name"
                )
            return found

        data = self._objects.get(name)
        return read_document(data, name, parse, what=f"commit {name!r}", hint=_HINT)

    def _not_begun(self) -> LogMismatchError:
        others: Iterable[str] = self._objects.list("")
        holds = "it is empty" if next(iter(others), None) is None else "it holds other objects"
        return LogMismatchError(
            f"the durable log {self._objects} does not have the commits of this app: {holds}, but "
            f"not {self.prefix + _BEGIN!r}, the first object of the app's log",
            hint=LogMismatchError.WAY_ON,
        )
