"""The checkpoint directory: what an app is, and where its parts lie."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from kstreams.errors import CheckpointMismatchError, InvalidNameError, NoCheckpointError
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.names import (
    MAX_NAME_BYTES,
    check_life,
    check_step,
    is_path_below,
    path_step,
    shown_name,
)
from kstreams.state.commits import CommitLog
from kstreams.state.directory import Directory
from kstreams.state.objects import ObjectStore
from kstreams.state.task_key import TaskKey

__all__ = ("ENTRIES", "Checkpoint", "checkpoint_path", "queries_of", "query_name")

_FORMAT = 3
_DESCRIPTION = "app.json"
ENTRIES = frozenset({_DESCRIPTION, "generations", "lock", "queries", "state"})
"""All that an app keeps in its checkpoint directory; what else is there is somebody else's."""


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
    upgrade has begun anew, on the state it had, is in `generations/<number>/<name>/`.

    Attributes:
        path: The directory.
        app: Id of the app.
        incarnation: Id of this life of the checkpoint: a reset begins another.
        shape: `Topology.shape` of what ran last: groups, routing, stores and their serdes.
        queries: Names of each query's groups, in the order of their stages.
        tasks: Number of tasks by group.
        generations: How many times a query was begun anew on its state, if ever.
        ended: By group, the lives that a generation has ended, with the last batch that each
            has committed: what later ones wrote to Kafka never counted.
        start_ms: Where sources begin that have no position, instead of their own start.
        origin: What the checkpoint was forked from; empty if it was not.
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
        """
        if not (path / _DESCRIPTION).exists():
            life = uuid4().hex[:12]
            queries = queries_of(topology)
            made = cls(path, app, life, topology.shape(), queries, dict(tasks))
            for query in queries:
                _check_scope(made, query)
            made.save()
        found = cls.load(path)
        if found.app != app:
            raise CheckpointMismatchError(
                f"checkpoint {str(path)!r} belongs to app {found.app!r}, not to {app!r}",
                hint="give each app a checkpoint of its own",
            )
        return found

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read what a checkpoint says it is, without asking whether it fits anything.

        Raises:
            NoCheckpointError: There is none.
            CheckpointMismatchError: It has another format.
            InvalidNameError: A name in it leads elsewhere.
        """
        try:
            found: dict[str, Any] = json.loads((path / _DESCRIPTION).read_text())
        except (FileNotFoundError, NotADirectoryError) as exc:
            raise NoCheckpointError(
                f"there is no checkpoint at {path}",
                hint="name the directory that the app was given: .kstreams/<app id> by default",
            ) from exc
        if found.get("format") != _FORMAT:
            raise CheckpointMismatchError(
                f"checkpoint {str(path)!r} has format {found.get('format')}, "
                f"this version reads {_FORMAT}",
                hint="run it with the version that wrote it, or reset the app",
            )
        return cls.from_json(path, found)

    @classmethod
    def from_json(cls, path: Path, data: Mapping[str, Any]) -> Checkpoint:
        """Read what `to_json` returned.

        Raises:
            InvalidNameError: A name in it leads elsewhere.
        """
        fields = {name: value for name, value in data.items() if name != "format"}
        queries = {name: tuple(groups) for name, groups in fields.pop("queries").items()}
        made = cls(path, queries=queries, **fields)
        _check_names(made)
        return made

    def to_json(self) -> dict[str, Any]:
        """Return plain data: all but the path."""
        fields = asdict(self)
        del fields["path"]
        return {"format": _FORMAT, **fields}

    def save(self) -> None:
        """Make this what the checkpoint says it is, in one step."""
        self.path.mkdir(parents=True, exist_ok=True)
        temporary = self.path / f".app-{os.getpid()}.json"
        with temporary.open("w") as file:
            json.dump(self.to_json(), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path / _DESCRIPTION)

    def life(self, query: str) -> str:
        """Return an id of a query's batches, like that of no other life or generation."""
        generation = self.generations.get(query, 0)
        return f"{self.incarnation}.{generation}" if generation else self.incarnation

    def scope(self, query: str) -> str:
        """Return the name of a query's state in the durable log, like no other's.

        Apps may share a log, and a life after a reset must not find an earlier one's.
        """
        return f"{self.app}.{self.incarnation}.{query}"

    def task_key(self, query: str, task: str) -> TaskKey:
        """Return the name in the durable log of a task, given as `group/partition`."""
        group, _, partition = task.rpartition("/")
        return TaskKey(self.scope(query), group, int(partition))

    def line(self, query: str) -> str:
        """Return the name of a query's commits and plans, like that of no other generation's."""
        generation = self.generations.get(query, 0)
        suffix = f"!{generation}" if generation else ""
        return f"{quote(self.scope(query), safe='')}{suffix}"

    def commits(self, query: str, log: ObjectStore) -> CommitLog:
        """Open the commit log of a query."""
        return CommitLog(log, f"commits/{self.line(query)}")

    @property
    def savepoints_prefix(self) -> str:
        """Return what the names of this life's savepoints begin with in the durable log."""
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


def _check_names(checkpoint: Checkpoint) -> None:
    """Refuse a description whose names lead out of its directory, or to another's objects."""
    place = f"the description of checkpoint {str(checkpoint.path)!r}"
    check_step(f"in {place} an app's id", checkpoint.app)
    check_life(checkpoint.incarnation, place)


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


def queries_of(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Return the names of each query's groups, by the query's name."""
    return {
        query_name(groups): tuple(group.name for group in groups) for groups in topology.pipelines()
    }


def query_name(groups: Iterable[PartitionGroup]) -> str:
    """Return the name of the query that runs a pipeline: its first group's."""
    return next(iter(groups)).name
