"""A checkpoint: the stored description of an app, and access to its commit logs, plans, state."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.storage.finished_batches import DoneNotes
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.removal import Removal
from kstreams.errors import (
    CheckpointMismatchError,
    FencedError,
    InvalidNameError,
    NoCheckpointError,
    StateCorruptError,
)
from kstreams.graph.checks.partitions import Uneven
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.ids import TaskId
from kstreams.log import DeletesCommitted
from kstreams.names import (
    MAX_NAME_BYTES,
    check_checkpoint_id,
    check_step,
)
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.commits import SEED, CommitLog
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.fields import Fields, WrongFieldError, checked_integer, checked_text
from kstreams.state.log.stored_names import STORED_NAMES, with_stored_names

__all__ = ("Checkpoint", "queries_of", "query_name", "refuse_remains")

_FORMAT = 4
_UNSEALED_FORMAT = 3
_APART = frozenset({"home", "removal", "revision", "uneven"})


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint, with the content of its app description; see `Description`.

    Attributes:
        home: The storage of the checkpoint: a directory or an object store.
        app: The app id.
        checkpoint_id: The checkpoint id, which changes with a reset.
        shape: The `Topology.shape` of the last run: groups, routing, stores and their serdes.
        queries: The names of each query's groups, in the order of their stages.
        tasks: The number of tasks, by group.
        epoch_numbers: The number of each query's epoch; upgrades that rewrite state increase it.
        ended: By group, the last committed batch of each ended epoch: later records of these epochs
            on Kafka are not valid.
        start_ms: The time, ms since the epoch, at which sources without a position start, instead
            of their own start.
        origin: The savepoint that the app was forked from; empty without a fork.
        begun: By query, the digest of the first object of its commit log. A missing log of such a
            query is an error.
        commit_effects: The `DeletesCommitted.commit_effect` of sources, by source.
        removal: The reset that has started; None without a reset.
        uneven: Inputs and stores with fewer partitions than their group has tasks.
        revision: The revision number of the app description; -1 before it is written.
    """

    home: CheckpointHome
    app: str
    checkpoint_id: str
    shape: Mapping[str, Any]
    queries: Mapping[str, tuple[str, ...]]
    tasks: Mapping[str, int]
    epoch_numbers: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    start_ms: int | None = None
    origin: str = ""
    begun: Mapping[str, str] = field(default_factory=dict)
    commit_effects: Mapping[str, str] = field(default_factory=dict)
    removal: Removal | None = None
    uneven: Uneven = field(default_factory=Uneven)
    revision: int = field(default=-1, compare=False)

    @classmethod
    def open(
        cls,
        home: CheckpointHome,
        app: str,
        topology: Topology,
        *,
        tasks: Mapping[str, int],
        uneven: Uneven = Uneven(),  # noqa: B008  # frozen
    ) -> Checkpoint:
        """Open a checkpoint, whatever its topology, or create one.

        Args:
            home: The storage of the checkpoint: a directory or an object store.
            app: The app id.
            topology: The topology of a new checkpoint.
            tasks: The number of tasks by group, of a new checkpoint.
            uneven: Inputs and stores with fewer partitions than their group has tasks, of a new
                checkpoint.

        Raises:
            NoCheckpointError: A reset of the checkpoint was interrupted.
            CheckpointMismatchError: The checkpoint belongs to another app, or has another format.
            InvalidNameError: The app id together with the name of a query is too long.
            StateCorruptError: The app description is unreadable or missing.
        """
        if not home.stamp():
            refuse_remains(home)
            epoch = uuid4().hex[:12]
            queries = queries_of(topology)
            made = cls(home, app, epoch, topology.shape(), queries, dict(tasks), uneven=uneven)
            made = made.with_logs_of(topology)
            for query in queries:
                _check_state_name(made, query)
            with suppress(FencedError):  # another driver begins it at the same time
                made.save()
        found = cls.load(home)
        if found.app != app:
            raise CheckpointMismatchError(
                f"checkpoint {str(home)!r} belongs to app {found.app!r}, not to {app!r}",
                hint="give each app its own checkpoint.",
            )
        return found

    @classmethod
    def load(cls, home: CheckpointHome) -> Checkpoint:
        """Read a checkpoint without checking that it matches an app.

        Raises:
            NoCheckpointError: There is no checkpoint, or its reset was interrupted.
            CheckpointMismatchError: The checkpoint has another format.
            InvalidNameError: A name in it leads out of the checkpoint.
            StateCorruptError: The description is unreadable.
        """
        found = cls.read(home)
        if found.removal is not None:
            raise NoCheckpointError(
                f"the checkpoint at {home} is being removed by a reset",
                hint="wait for the reset. If the reset was interrupted, repeat it, or start the "
                "app, which then begins with empty state.",
            )
        return found

    @classmethod
    def read(cls, home: CheckpointHome) -> Checkpoint:
        """Read the app description of a checkpoint, even if a reset of the app has started.

        Raises:
            NoCheckpointError: There is no checkpoint.
            CheckpointMismatchError: The checkpoint has another format.
            InvalidNameError: A name in it leads out of the checkpoint.
            StateCorruptError: The description is unreadable.
        """
        found = home.description()
        if found is None:
            raise NoCheckpointError(
                f"there is no checkpoint at {home}",
                hint="give the checkpoint that the app runs on: .kstreams/<app id> by default.",
            )
        version = _format_of(found.data)
        if version not in (None, _UNSEALED_FORMAT, _FORMAT):
            raise CheckpointMismatchError(
                f"checkpoint {str(home)!r} has format {version!r} in {found.name!r}, but this "
                f"version of kstreams reads only formats {_UNSEALED_FORMAT} and {_FORMAT}",
                hint="run the app with the version that wrote the checkpoint, or reset the app.",
            )
        return read_document(
            found.data,
            found.name,
            lambda fields, _: replace(cls.from_json(home, fields), revision=found.revision),
            what=f"{f'{home}/{found.name}'!r}, the app description of the checkpoint,",
            hint="restore it from a copy of the checkpoint. Without a copy, move the checkpoint "
            "away and start with empty state, or fork a copied savepoint.",
            sealed=version != _UNSEALED_FORMAT,
        )

    @classmethod
    def from_json(cls, home: CheckpointHome, fields: Fields) -> Checkpoint:
        """Parse the result of `to_json`; raises `WrongFieldError` if a field is invalid.

        Raises:
            InvalidNameError: A name in it leads out of the checkpoint.
        """
        app, epoch = _checked_names(home, fields)
        uneven = fields.mapping("uneven", {})
        queries = {
            query: tuple(checked_text(group, "a group") for group in Fields(found).items(query))
            for found in [fields.mapping("queries")]
            for query in found
        }
        made = cls(
            home,
            app,
            epoch,
            _checked_shape(fields),
            queries,
            fields.integers("tasks"),
            fields.integers(STORED_NAMES["epoch_numbers"], {}),
            {group: _batches(epochs) for group, epochs in fields.mapping("ended", {}).items()},
            None if fields.anything("start_ms") is None else fields.integer("start_ms"),
            fields.text("origin", ""),
            fields.texts("begun", {}),
            fields.texts(STORED_NAMES["commit_effects"], {}),
            Removal.from_json(fields.anything("removal")),
            Uneven(*(Fields(uneven).integers(part, {}) for part in ("inputs", "stores"))),
        )
        for group in (group for groups in queries.values() for group in groups):
            if group not in made.shape or group not in made.tasks:
                raise WrongFieldError(f"group {group!r} is missing in field 'shape' or 'tasks'")
        return made

    def to_json(self) -> dict[str, Any]:
        """Return the app description as plain data for JSON, without storage and revision."""
        described = {name: value for name, value in vars(self).items() if name not in _APART}
        removal = {} if self.removal is None else {"removal": self.removal.to_json()}
        uneven = {} if self.uneven == Uneven() else {"uneven": vars(self.uneven)}
        return {"format": _FORMAT, **with_stored_names(described), **removal, **uneven}

    def with_logs_of(self, topology: Topology) -> Checkpoint:
        """Return a copy whose `commit_effects` has the texts of a topology's sources."""
        logs: dict[str, object] = {
            node.topic.name: node.log for node in topology.sources if node.log is not None
        }
        found = [(name, log) for name, log in logs.items() if isinstance(log, DeletesCommitted)]
        effects = {name: log.commit_effect for name, log in found if log.commit_effect}
        return replace(self, commit_effects=effects)

    def save(self) -> Checkpoint:
        """Write the app description atomically; return the checkpoint with its new revision.

        Raises:
            FencedError: Another driver has saved the next revision since this one was read.
        """
        made = replace(self, revision=self.revision + 1)
        document = seal(self.to_json(), self.home.description_name(made.revision), indent=1)
        self.home.describe(made.revision, document.data)
        return made

    def epoch(self, query: str) -> str:
        """Return the id of a query's current epoch, unique among checkpoint ids and epochs."""
        epoch_number = self.epoch_numbers.get(query, 0)
        return f"{self.checkpoint_id}.{epoch_number}" if epoch_number else self.checkpoint_id

    def state_name(self, query: str) -> str:
        """Return the unique name of a query's state in the durable log.

        Apps may share a log, and after a reset the new checkpoint id must not find old objects.
        """
        return f"{self.app}.{self.checkpoint_id}.{query}"

    def task_key(self, query: str, task: TaskId) -> TaskKey:
        """Return the name of a task's state in the durable log."""
        return TaskKey(self.state_name(query), *task)

    def log_name(self, query: str) -> str:
        """Return the name of a query's commits and plans, unique for each epoch."""
        epoch_number = self.epoch_numbers.get(query, 0)
        suffix = f"!{epoch_number}" if epoch_number else ""
        return f"{quote(self.state_name(query), safe='')}{suffix}"

    def commits(self, query: str, log: ObjectStore) -> CommitLog:
        """Return the commit log of a query; reads raise an error if it was begun but is missing."""
        return CommitLog(log, f"commits/{self.log_name(query)}", begun=query in self.begun)

    @property
    def savepoints_prefix(self) -> str:
        """Return the name prefix of this checkpoint's savepoints in the durable log."""
        return f"savepoints/{quote(f'{self.app}.{self.checkpoint_id}', safe='')}/"

    @property
    def log(self) -> ObjectStoreSettings:
        """The durable log in the checkpoint, for backends without a log of their own."""
        return self.home.log

    def plans(self, query: str) -> PlanLog:
        """Return the plan log of a query's current epoch."""
        log_name = self.log_name(query)
        place = self.home.plans(query, self.epoch_numbers.get(query, 0), log_name)
        return PlanLog(place.objects, place.prefix, log_name)

    def done_notes(self, query: str) -> DoneNotes:
        """Return the notes of the last completed batch of a query."""
        return self.home.done_notes(query, self.epoch_numbers.get(query, 0))

    def query_of_group(self, group: str) -> str:
        """Return the name of the query that runs a group; raises `KeyError` if there is none."""
        for query, groups in self.queries.items():
            if group in groups:
                return query
        raise KeyError(group)

    def partitions_of(self, store: str, group: str) -> int:
        """Return the number of partitions of a group's store."""
        return self.uneven.of_store(store, self.tasks[group])

    def stores(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Return each store's group and schema, by the store's name."""
        return {
            name: (group, schema)
            for group, parts in self.shape.items()
            for name, schema in parts["stores"].items()
        }


def _checked_names(home: CheckpointHome, fields: Fields) -> tuple[str, str]:
    """Return the app id and checkpoint id; raises an error if they are invalid in object names."""
    place = f"the app description of checkpoint {str(home)!r}"
    epoch = check_checkpoint_id(fields.anything(STORED_NAMES["checkpoint_id"]), place)
    return check_step(f"in {place} an app's id", fields.text("app")), epoch


def _check_state_name(checkpoint: Checkpoint, query: str) -> None:
    """Raise `InvalidNameError` if app id and query name together are too long for one name."""
    name = f"{quote(checkpoint.state_name(query), safe='')}!0000"  # of a later epoch
    if len(name) > MAX_NAME_BYTES:
        raise InvalidNameError(
            f"app id {checkpoint.app!r} and name {query!r} of a source or repartition edge make "
            f"a directory name of {len(name)} bytes, more than the maximum of {MAX_NAME_BYTES}",
            name=query,
            hint="shorten the app id or the name; characters other than ASCII letters, digits, "
            "'_', '.', '-' and '~' take three bytes or more in the directory name.",
        )


def refuse_remains(home: CheckpointHome, *, but: Collection[str] = ()) -> None:
    """Raise an error if a storage without an app description has other parts of a checkpoint.

    Args:
        home: The storage of the checkpoint.
        but: The names of allowed parts.

    Raises:
        StateCorruptError: The storage has other parts of a checkpoint.
    """
    remains = [name for name in home.remains() if name not in but]
    if remains:
        described = home.description_name(0)
        raise StateCorruptError(
            f"{home} is neither a checkpoint nor empty: it has {', '.join(remains)}, but no "
            f"{described}, which names the app",
            hint=f"restore {described} from a copy. Without a copy, move the other parts away and "
            "start with empty state, or fork a copied savepoint. Repeat a fork that was "
            "interrupted.",
        )


def _format_of(data: bytes) -> object:
    """Return the format number in an app description; None if it has none or cannot be parsed."""
    try:
        return Fields(json.loads(data)).anything("format")
    except (ValueError, RecursionError):
        return None


def _batches(epochs: object) -> dict[str, int]:
    """Parse the last committed batches by epoch; `SEED` for epochs without batches."""
    found = Fields(epochs).all()
    return {epoch: checked_integer(n, f"epoch {epoch!r}", least=SEED) for epoch, n in found.items()}


def _checked_shape(fields: Fields) -> dict[str, Any]:
    shape = fields.mapping("shape")
    for group in shape.values():
        parts = Fields(group)
        heads = (parts.mapping("sources"), parts.mapping("entries"), parts.mapping("loops", {}))
        for each in heads:
            for head in each.values():
                Fields(head).text("key")
                Fields(head).text("partitioner")
        for schema in parts.mapping("stores").values():
            Fields(schema).text("kind")
        for own in parts.mapping("parameters", {}).values():
            for name, value in Fields(own).all().items():
                if not isinstance(value, (str, int)):
                    raise WrongFieldError(
                        f"parameter {name!r} of a store is {value!r}, expected text or an integer"
                    )
        for terms in parts.mapping("joins", {}).values():
            for name in {*Fields(terms).all()} - {"how"}:
                Fields(terms).integer(name)
    return shape


def queries_of(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Return the names of each query's groups, by the query's name."""
    return {
        query_name(groups): tuple(group.name for group in groups) for groups in topology.pipelines()
    }


def query_name(groups: Iterable[PartitionGroup]) -> str:
    """Return the name of the query that runs a pipeline: the name of its first group."""
    return next(iter(groups)).name
