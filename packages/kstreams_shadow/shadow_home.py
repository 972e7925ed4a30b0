"""The directory of a shadow: its replicas, their results, and its documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.directory_home import DirectoryHome
from kstreams.errors import CheckpointMismatchError, NoCheckpointError
from kstreams.files import read_small, write_new
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.fields import Fields, WrongFieldError, checked_text

__all__ = ("SIDES", "CutOver", "Description", "ShadowHome", "Side")

T = TypeVar("T")
"""The type of a parsed document."""

Side = Literal["old", "new"]
"""A replica: the one with the topology of the app, or the one with the changed topology."""

SIDES: tuple[Side, Side] = ("old", "new")
_MOST_RECORDS = 1_000
_MOST_BYTES = 16 * 1024 * 1024
_HINT = "remove the directory of the shadow, and start it again from a savepoint."


@dataclass(frozen=True)
class CutOver:
    """A replacement of the app's topology and state by those of a replica.

    The record is written before the app's checkpoint. The replacement was made if the checkpoint
    has these commit logs.

    Attributes:
        side: The replica.
        begun: The digest of the first object of each commit log; see `Checkpoint.begun`.
    """

    side: Side
    begun: Mapping[str, str]


@dataclass(frozen=True)
class Description:
    """The identity of a shadow.

    Attributes:
        app: The app id.
        checkpoint_id: The checkpoint id of the app.
        source: The savepoint that both replicas start from, as `checkpoint@savepoint`.
        topologies: The fingerprints of the old and the new topology.
        first_batches: The batch of the savepoint, by the unique name of the query's epoch.
        cut_overs: The commit logs of the app at the start of the shadow, then the replacements,
            oldest first; a replacement may not have been made.
    """

    app: str
    checkpoint_id: str
    source: str
    topologies: Sequence[str]
    first_batches: Mapping[str, int]
    cut_overs: Sequence[CutOver] = ()

    def active(self, app: Checkpoint) -> Side:
        """Return the replica whose topology the app runs.

        Raises:
            CheckpointMismatchError: The app has had an upgrade since the start of the shadow.
        """
        for each in reversed(self.cut_overs):
            if each.begun == app.begun:
                return each.side
        raise CheckpointMismatchError(
            f"app {app.app!r} was upgraded or rescaled since its shadow was started",
            hint=_HINT,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        cut_overs = [[each.side, dict(each.begun)] for each in self.cut_overs]
        return {**vars(self), "topologies": list(self.topologies), "cut_overs": cut_overs}

    @classmethod
    def from_json(cls, fields: Fields) -> Description:
        """Parse the result of `to_json`; raises `ValueError` if a field is invalid."""
        return cls(
            fields.text("app"),
            fields.text("checkpoint_id"),
            fields.text("source"),
            tuple(checked_text(each, "a fingerprint") for each in fields.items("topologies")),
            _batches(fields.mapping("first_batches")),
            tuple(
                CutOver(_side(side), Fields({"begun": begun}).texts("begun"))
                for side, begun in fields.items("cut_overs")
            ),
        )


def _batches(content: Mapping[str, object]) -> dict[str, int]:
    fields = Fields(content)
    return {name: fields.integer(name, least=-1) for name in content}


def _side(value: object) -> Side:
    for side in SIDES:
        if value == side:
            return side
    raise WrongFieldError(f"expected 'old' or 'new', got {value!r}")


@dataclass(frozen=True)
class ShadowHome:
    """The directory of a shadow.

    Attributes:
        path: The directory.
    """

    path: Path

    def replica(self, side: Side) -> DirectoryHome:
        """Return the storage of a replica's checkpoint."""
        return DirectoryHome(self.path / side)

    def results(self, side: Side, query: str) -> Path:
        """Return the folder of the results that a query of a replica has held back."""
        return self.path / "results" / side / sha256(query.encode()).hexdigest()[:32]

    def described(self) -> Description | None:
        """Return the identity of the shadow; None if there is no shadow in the directory.

        Raises:
            StateCorruptError: The document is damaged.
        """
        return self._read("shadow.json", Description.from_json)

    def describe(self, description: Description) -> None:
        """Write the identity of the shadow atomically."""
        self.write("shadow.json", description.to_json())

    def checked(self, app: Checkpoint) -> Description:
        """Return the identity of the shadow, if it is a shadow of this checkpoint.

        Raises:
            NoCheckpointError: There is no shadow in the directory.
            CheckpointMismatchError: It is a shadow of another app, or of the app before a reset.
        """
        found = self.described()
        if found is None:
            raise NoCheckpointError(
                f"there is no shadow in {str(self.path)!r}",
                hint="start one with `kstreams shadow run`.",
            )
        if (found.app, found.checkpoint_id) != (app.app, app.checkpoint_id):
            raise CheckpointMismatchError(
                f"the shadow in {str(self.path)!r} belongs to app {found.app!r} with checkpoint id "
                f"{found.checkpoint_id}, but app {app.app!r} has checkpoint id {app.checkpoint_id}",
                hint=f"the app was reset, or is another one: {_HINT}",
            )
        return found

    def record(self, app: Checkpoint, cut_over: CutOver) -> None:
        """Record a replacement before it is made."""
        found = self.checked(app)
        records = (*found.cut_overs, cut_over)[-_MOST_RECORDS:]
        self.describe(replace(found, cut_overs=records))

    def read_report(self) -> Fields | None:
        """Return the fields of the report; None before the first compared batch."""
        return self._read("report.json", lambda fields: fields)

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a document atomically and durably."""
        self.path.mkdir(parents=True, exist_ok=True)
        temporary = self.path / f".{uuid4().hex}.json"
        write_new(temporary, seal(content, name).data, durable=True)
        temporary.replace(self.path / name)

    def _read(self, name: str, parse: Callable[[Fields], T]) -> T | None:
        try:
            data = read_small(self.path / name, _MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        what = f"{str(self.path / name)!r}"
        return read_document(
            data, name, lambda fields, _: parse(fields), what=what, hint=_HINT, sealed=True
        )
