"""The checkpoint directory: what an app is, and where its parts are."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from kstreams.errors import (
    CheckpointMismatchError,
    InvalidNameError,
    NoCheckpointError,
    StateCorruptError,
)
from kstreams.files import write_new
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.ids import TaskId
from kstreams.names import (
    MAX_NAME_BYTES,
    check_incarnation,
    check_step,
    is_path_below,
    path_step,
    shown_name,
)
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.commits import SEED, CommitLog
from kstreams.state.log.directory import Directory
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.fields import Fields, WrongFieldError, checked_integer, checked_text

__all__ = (
    "ENTRIES",
    "FORKING",
    "Checkpoint",
    "checkpoint_path",
    "queries_of",
    "query_name",
    "refuse_remains",
    "remove_drafts",
    "write_entry",
)

_FORMAT = 4
_UNSEALED_FORMAT = 3
_DESCRIPTION = "app.json"
FORKING = "fork.json"
"""Says which incarnation a fork is making, until it is made."""
ENTRIES = frozenset({_DESCRIPTION, FORKING, "generations", "lock", "queries", "state"})
"""All that an app keeps in its checkpoint directory; anything else there is not its own."""
_PARTS = ("queries", "generations", "state", "plans", "spark", FORKING)


def checkpoint_path(app: str, named: str | Path | None = None) -> Path:
    """Return an app's checkpoint directory: the one named, or `.kstreams/<app>`.

    Raises:
        InvalidNameError: The app's id cannot name a directory.
    """
    check_step("an app's id", app)
    return Path(named or Path(".kstreams") / app).absolute()


@dataclass(frozen=True)
class Checkpoint:
    """An app's directory.

    `app.json` says what the app is; `state/` holds deltas, snapshots and commits;
    `queries/<name>/` holds a query's plans and Spark's own checkpoint. A query that an
    upgrade has started again, on the state it had, is in `generations/<number>/<name>/`.

    Attributes:
        path: The directory.
        app: Id of the app.
        incarnation: Id of this checkpoint; after a reset it is another.
        shape: `Topology.shape` of what ran last: groups, routing, stores and their serdes.
        queries: Names of each query's groups, in the order of their stages.
        tasks: Number of tasks by group.
        generations: How many times a query was started again on its state, if ever.
        ended: By group, the epochs that a generation has ended, with the last batch that each
            has committed: what later ones wrote to Kafka never counted.
        start_ms: Where sources begin that have no position, instead of their own start.
        origin: What the checkpoint was forked from; empty if it was not.
        begun: By query, the digest of what its commit log begins with, once it does: from
            then on it has to be there.
    """

    path: Path
    app: str
    incarnation: str
    shape: Mapping[str, Any]
    queries: Mapping[str, tuple[str, ...]]
    tasks: Mapping[str, int]
    generations: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    start_ms: int | None = None
    origin: str = ""
    begun: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        path: Path,
        app: str,
        topology: Topology,
        *,
        tasks: Mapping[str, int],
    ) -> Checkpoint:
        """Open a checkpoint as it is, whatever topology it has, or begin one.

        Args:
            path: The directory.
            app: Id of the app.
            topology: What a new one runs.
            tasks: Number of tasks by group, if the checkpoint is new.

        Raises:
            CheckpointMismatchError: It belongs to another app, or has another format.
            InvalidNameError: The ids of the app and of a query are too long together.
            StateCorruptError: What it says it is cannot be read, or is gone.
        """
        if not (path / _DESCRIPTION).exists():
            refuse_remains(path)
            epoch = uuid4().hex[:12]
            queries = queries_of(topology)
            made = cls(path, app, epoch, topology.shape(), queries, dict(tasks))
            for query in queries:
                _check_scope(made, query)
            made.save()
        found = cls.load(path)
        if found.app != app:
            raise CheckpointMismatchError(
                f"checkpoint {str(path)!r} belongs to app {found.app!r}, not to {app!r}",
                hint="give each app its own checkpoint.",
            )
        return found

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read what a checkpoint says it is, without asking whether it fits anything.

        Raises:
            NoCheckpointError: There is none.
            CheckpointMismatchError: It has another format.
            InvalidNameError: A name in it leads elsewhere.
            StateCorruptError: It cannot be read.
        """
        try:
            data = (path / _DESCRIPTION).read_bytes()
        except (FileNotFoundError, NotADirectoryError) as exc:
            raise NoCheckpointError(
                f"there is no checkpoint at {path}",
                hint="name the directory that the app was given: .kstreams/<app id> by default.",
            ) from exc
        version = _format_of(data)
        if version not in (None, _UNSEALED_FORMAT, _FORMAT):
            raise CheckpointMismatchError(
                f"checkpoint {str(path)!r} has format {version!r}, "
                f"this version reads {_UNSEALED_FORMAT} and {_FORMAT} (so says {_DESCRIPTION!r})",
                hint="run it with the version that wrote it, or reset the app.",
            )
        return read_document(
            data,
            _DESCRIPTION,
            lambda fields, _: cls.from_json(path, fields),
            what=f"{str(path / _DESCRIPTION)!r}, which says what the checkpoint is,",
            hint="bring it back from a copy of the checkpoint directory. Without one, move the "
            "directory away to start fresh, or fork a savepoint of which there is a copy.",
            sealed=version != _UNSEALED_FORMAT,
        )

    @classmethod
    def from_json(cls, path: Path, fields: Fields) -> Checkpoint:
        """Read what `to_json` returned; `WrongFieldError` says what is wrong with it.

        Raises:
            InvalidNameError: A name in it leads elsewhere.
        """
        app, epoch = _checked_names(path, fields)
        queries = {
            query: tuple(checked_text(group, "a group") for group in Fields(found).items(query))
            for found in [fields.mapping("queries")]
            for query in found
        }
        made = cls(
            path,
            app,
            epoch,
            _checked_shape(fields),
            queries,
            fields.integers("tasks"),
            fields.integers("generations", {}),
            {group: _batches(epochs) for group, epochs in fields.mapping("ended", {}).items()},
            None if fields.anything("start_ms") is None else fields.integer("start_ms"),
            fields.text("origin", ""),
            fields.texts("begun", {}),
        )
        for group in (group for groups in queries.values() for group in groups):
            if group not in made.shape or group not in made.tasks:
                raise WrongFieldError(f"group {group!r} of a query has no shape, or no tasks")
        return made

    def to_json(self) -> dict[str, Any]:
        """Return plain data: all but the path."""
        fields = asdict(self)
        del fields["path"]
        return {"format": _FORMAT, **fields}

    def save(self) -> None:
        """Make this what the checkpoint says it is, in one step."""
        document = seal(self.to_json(), _DESCRIPTION, indent=1)
        write_entry(self.path, _DESCRIPTION, document.data)

    def epoch(self, query: str) -> str:
        """Return the id of a query's batches: no other incarnation or generation has it."""
        generation = self.generations.get(query, 0)
        return f"{self.incarnation}.{generation}" if generation else self.incarnation

    def scope(self, query: str) -> str:
        """Return the name of a query's state in the durable log, like no other's.

        Apps may share a log, and an incarnation must not find what one before a reset has left.
        """
        return f"{self.app}.{self.incarnation}.{query}"

    def task_key(self, query: str, task: TaskId) -> TaskKey:
        """Return the name of a task's state in the durable log."""
        return TaskKey(self.scope(query), *task)

    def line(self, query: str) -> str:
        """Return the name of a query's commits and plans, like that of no other generation's."""
        generation = self.generations.get(query, 0)
        suffix = f"!{generation}" if generation else ""
        return f"{quote(self.scope(query), safe='')}{suffix}"

    def commits(self, query: str, log: ObjectStore) -> CommitLog:
        """Open the commit log of a query; if it has begun, it has to be there."""
        return CommitLog(log, f"commits/{self.line(query)}", begun=query in self.begun)

    @property
    def savepoints_prefix(self) -> str:
        """Return what the names of this incarnation's savepoints begin with in the durable log."""
        return f"savepoints/{quote(f'{self.app}.{self.incarnation}', safe='')}/"

    @property
    def log(self) -> Directory:
        """The durable log for backends that bring none of their own."""
        return self.log_of(self.path)

    @staticmethod
    def log_of(path: Path) -> Directory:
        """Return the durable log in a checkpoint directory."""
        return Directory(str(path / "state"))

    def query(self, query: str) -> Path:
        """Return a query's directory."""
        root = self._generation(self.generations.get(query, 0))
        step = path_step(query)
        if step != query and is_path_below(query) and (root / query / "plans").is_dir():
            return root / query  # made before such names were quoted
        return root / step

    def _generation(self, number: int) -> Path:
        return self.path / "generations" / str(number) if number else self.path / "queries"

    def query_of_group(self, group: str) -> str:
        """Return the query that runs a group; `KeyError` when there is none."""
        for query, groups in self.queries.items():
            if group in groups:
                return query
        raise KeyError(group)

    def stores(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Return each store's group and schema, by the store's name."""
        return {
            name: (group, schema)
            for group, parts in self.shape.items()
            for name, schema in parts["stores"].items()
        }


def write_entry(checkpoint: Path, name: str, data: bytes) -> None:
    """Put a file of a checkpoint in its place, in one step, whether there is one or not."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    temporary = checkpoint / f".app-{uuid4().hex}.json"
    write_new(temporary, data, durable=True)
    temporary.replace(checkpoint / name)


def remove_drafts(checkpoint: Path) -> None:
    """Remove files that `write_entry` was killed before it put them in their place.

    To be called under the checkpoint's lock: then no one else writes one.
    """
    for draft in checkpoint.glob(".app-*.json"):
        draft.unlink(missing_ok=True)


def _checked_names(path: Path, fields: Fields) -> tuple[str, str]:
    """Return an app's id and incarnation that lead to nothing but its own objects."""
    place = f"the description of checkpoint {str(path)!r}"
    epoch = check_incarnation(fields.anything("incarnation"), place)
    return check_step(f"in {place} an app's id", fields.text("app")), epoch


def _check_scope(checkpoint: Checkpoint, query: str) -> None:
    """Refuse names that are good by themselves, but not in one object's name."""
    try:
        name = f"{quote(checkpoint.scope(query), safe='')}!0000"  # of a later generation
    except UnicodeEncodeError as exc:
        raise InvalidNameError(
            f"a source or repartition edge is named {shown_name(query)}: it has half a character",
            name=query,
        ) from exc
    if len(name) > MAX_NAME_BYTES:
        raise InvalidNameError(
            f"the app's id {checkpoint.app!r} and the name {query!r} of its source or repartition "
            f"edge make a directory's name of {len(name)} bytes, at most {MAX_NAME_BYTES} will do",
            name=query,
            hint="shorten one of the two; characters other than ASCII letters, digits, '_', '.', "
            "'-' and '~' take three bytes or more there.",
        )


def refuse_remains(path: Path, *, but: Collection[str] = ()) -> None:
    """Refuse to begin a checkpoint on what is left of another.

    Args:
        path: A directory without `app.json`, or none.
        but: Names of the parts that may be there.

    Raises:
        StateCorruptError: Other parts of a checkpoint are there.
    """
    remains = [name for name in _PARTS if name not in but and (path / name).exists()]
    if remains:
        raise StateCorruptError(
            f"{path} is no new checkpoint: it has {', '.join(remains)}, but no {_DESCRIPTION}, "
            "which says whose they are",
            hint=f"bring {_DESCRIPTION} back from a copy. Without one, move the directory away to "
            "start fresh, or fork a savepoint of which there is a copy; a fork that was cut short "
            "can be made again.",
        )


def _format_of(data: bytes) -> object:
    """Return the format that a description says it has; None when it says nothing."""
    try:
        return Fields(json.loads(data)).anything("format")
    except (ValueError, RecursionError):
        return None


def _batches(epochs: object) -> dict[str, int]:
    """Return last committed batches by epoch; `SEED` where there was nothing else."""
    found = Fields(epochs).all()
    return {epoch: checked_integer(n, f"epoch {epoch!r}", least=SEED) for epoch, n in found.items()}


def _checked_shape(fields: Fields) -> dict[str, Any]:
    shape = fields.mapping("shape")
    for group in shape.values():
        parts = Fields(group)
        for heads in (
            parts.mapping("sources"),
            parts.mapping("entries"),
            parts.mapping("loops", {}),
        ):
            for head in heads.values():
                Fields(head).text("key")
                Fields(head).text("partitioner")
        for schema in parts.mapping("stores").values():
            Fields(schema).text("kind")
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
    """Return the name of the query that runs a pipeline: its first group's."""
    return next(iter(groups)).name
