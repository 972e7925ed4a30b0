"""Savepoints: named versions of an app's state, which are kept until they are deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.clock import Clock
from kstreams.errors import InvalidNameError, ObjectMissingError, SavepointError
from kstreams.names import MAX_NAME_BYTES, shown_name, text_problem
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.fields import Fields, WrongFieldError

__all__ = ("SAVEPOINT_RULE", "Savepoint", "Savepoints", "is_savepoint_name", "pinned_objects")

SAVEPOINT_RULE = (
    "use one character or more, no '@', no control character, no '.' as the first character, and "
    "at most 250 bytes; a character outside ASCII takes three bytes or more."
)
"""The hint of errors about invalid names of savepoints."""

_ATTEMPTS = 10
_SAVEPOINT = re.compile(r"[^/]+\.json")


@dataclass(frozen=True)
class Savepoint:
    """A savepoint: the checkpoint of an app, and the last commit of each query.

    Each commit has the pointers of all tasks of its query, and the pointers have the offsets of the
    state. So groups that are connected by repartition edges are consistent with each other. Queries
    that are only connected by topics may be at different points of the stream.

    Attributes:
        name: The name of the savepoint.
        wall_ms: The time of the savepoint, ms since the Unix epoch.
        checkpoint: The checkpoint at that time.
        commits: The last commit of each query.
    """

    name: str
    wall_ms: int
    checkpoint: Checkpoint
    commits: Mapping[str, Commit]


class Savepoints:
    """The savepoints of an app, in its durable log. Needs no lock: the app may be running.

    Args:
        checkpoint: The checkpoint of the app.
        objects: The durable log of the app.
    """

    def __init__(self, checkpoint: Checkpoint, objects: ObjectStore) -> None:
        self._checkpoint = checkpoint
        self._objects = objects
        self._prefix = checkpoint.savepoints_prefix

    def create(self, name: str, clock: Clock) -> Savepoint:
        """Create a savepoint of the last commit of every query.

        Nothing is copied: the savepoint names objects, and cleanup keeps these objects.

        Raises:
            SavepointError: The name exists or is invalid; the app has no commit yet; or it commits
                too fast to save a retained version (try again).
        """
        _check(name)
        for _ in range(_ATTEMPTS):
            commits = self._last_commits()
            savepoint = Savepoint(name, clock.now_ms(), self._checkpoint, commits)
            document = seal(_to_json(savepoint), self._name(name))
            if not self._objects.put_if_absent(self._name(name), document.data):
                raise SavepointError(
                    f"there is a savepoint {name!r} of app {self._checkpoint.app!r} already",
                    hint="choose another name, or delete that one first.",
                )
            # Clean-up forgets commits before it reads the savepoints: if ours are still in
            # the log now, a later clean-up will see the savepoint.
            if self._are_retained(commits):
                return savepoint
            self.delete(name)
        raise SavepointError(
            f"the app commits faster than savepoint {name!r} can be made",
            hint="try again, or let the app retain more batches: App(retained_batches=...).",
        )

    def load(self, name: str) -> Savepoint:
        """Return a savepoint.

        Raises:
            SavepointError: There is no savepoint of this name; the error lists the existing ones.
            StateCorruptError: The savepoint cannot be read.
        """
        try:
            data = self._objects.get(self._name(name))
        except (ObjectMissingError, InvalidNameError, UnicodeEncodeError) as exc:
            known = ", ".join(map(repr, self.names())) or "none"
            raise SavepointError(
                f"app {self._checkpoint.app!r} has no savepoint {shown_name(name)}; "
                f"there are: {known}"
            ) from exc
        return _read(data, self._name(name), self._checkpoint.home)

    def names(self) -> list[str]:
        """Return the names of all savepoints, sorted."""
        return [unquote(found[len(self._prefix) : -len(".json")]) for found in self._objects_of()]

    def all(self) -> Iterator[Savepoint]:
        """Yield all savepoints, by name."""
        for found in self._objects_of():
            yield _read(self._objects.get(found), found, self._checkpoint.home)

    def delete(self, name: str) -> None:
        """Delete a savepoint, if it exists, so that cleanup may delete its objects."""
        self._objects.delete([self._name(name)])

    def strays(self) -> list[str]:
        """Return the names of objects below the prefix that are not savepoints."""
        found = self._objects.list(self._prefix)
        return [name for name in found if not self._is_savepoint(name)]

    def _objects_of(self) -> list[str]:
        return list(filter(self._is_savepoint, self._objects.list(self._prefix)))

    def _is_savepoint(self, name: str) -> bool:
        return _SAVEPOINT.fullmatch(name, len(self._prefix)) is not None

    def _last_commits(self) -> dict[str, Commit]:
        found: dict[str, Commit] = {}
        for query in self._checkpoint.queries:
            last = self._checkpoint.commits(query, self._objects).last()
            if last is not None:
                found[query] = last
        if not found:
            raise SavepointError(
                f"app {self._checkpoint.app!r} has committed nothing yet",
                hint="make the savepoint after its first batch.",
            )
        return found

    def _are_retained(self, commits: Mapping[str, Commit]) -> bool:
        return all(
            commit.batch in self._checkpoint.commits(query, self._objects).batches()
            for query, commit in commits.items()
        )

    def _name(self, name: str) -> str:
        return self._prefix + _file_name(name)


def pinned_objects(checkpoint: Checkpoint, objects: ObjectStore) -> set[str]:
    """Return the names of all objects that savepoints of a checkpoint need."""
    return {
        name
        for savepoint in Savepoints(checkpoint, objects).all()
        for commit in savepoint.commits.values()
        for name in commit.objects()
    }


def is_savepoint_name(name: str) -> bool:
    """Return whether a savepoint can have this name."""
    return not (text_problem(name) or name.startswith(".") or "@" in name or _is_long(name))


def _check(name: str) -> None:
    if not is_savepoint_name(name):
        raise SavepointError(
            f"{shown_name(name)} is not a valid name of a savepoint", hint=SAVEPOINT_RULE
        )


def _is_long(name: str) -> bool:
    return len(_file_name(name)) > MAX_NAME_BYTES


def _file_name(name: str) -> str:
    return f"{quote(name, safe='')}.json"


def _to_json(savepoint: Savepoint) -> dict[str, Any]:
    return {
        "name": savepoint.name,
        "wall_ms": savepoint.wall_ms,
        "path": str(savepoint.checkpoint.home),
        "checkpoint": savepoint.checkpoint.to_json(),
        "commits": {query: commit.to_json() for query, commit in savepoint.commits.items()},
    }


def _read(data: bytes, name: str, home: CheckpointHome) -> Savepoint:
    def parse(fields: Fields, _: str) -> Savepoint:
        described = Checkpoint.from_json(home, Fields(fields.mapping("checkpoint")))
        found = Savepoint(
            fields.text("name"),
            fields.integer("wall_ms"),
            described,
            {q: Commit.from_json(commit) for q, commit in fields.mapping("commits").items()},
        )
        if f"{quote(found.name, safe='')}.json" != name.rpartition("/")[2]:
            raise WrongFieldError(
                f"the file has the content of savepoint {found.name!r}: it was renamed or copied"
            )
        return found

    return read_document(
        data,
        name,
        parse,
        what=f"savepoint {name!r}",
        hint="restore it from a copy of the log, or delete it.",
    )
