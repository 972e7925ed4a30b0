"""Errors of state: stores, the durable log, checkpoints and savepoints."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kstreams.errors.base import KStreamsError
from kstreams.errors.execution import ExecutionError

__all__ = (
    "CheckpointMismatchError",
    "ForeignDirectoryError",
    "InvalidNameError",
    "LogMismatchError",
    "NoCheckpointError",
    "ObjectMissingError",
    "SavepointError",
    "ServerRefusedError",
    "ServerUnavailableError",
    "StateCorruptError",
    "StoreError",
    "StoreKindError",
    "StoreOpenError",
    "VersionGoneError",
)


class StoreError(KStreamsError):
    """A state store failed."""


class StoreKindError(StoreError, LookupError):
    """The kind of a store is unknown, or does not support the call."""


class ServerUnavailableError(StoreError, ConnectionError):
    """A server of committed state does not answer, or answers incorrectly; try again later."""

    __str__ = KStreamsError.__str__


class ServerRefusedError(StoreError, PermissionError):
    """A request to a server of committed state is rejected: wrong address or token."""

    __str__ = KStreamsError.__str__


class StoreOpenError(StoreError, OSError):
    """A state backend cannot open its files; nothing was changed. Fix the cause and restart."""

    __str__ = KStreamsError.__str__


class ObjectMissingError(StoreError, KeyError):
    """An object store has no object of this name."""

    __str__ = KStreamsError.__str__


class InvalidNameError(KStreamsError, ValueError):
    """A name is invalid as a component of a path or of an object's name; choose another name.

    Attributes:
        name: The invalid name.
    """

    RULE: ClassVar[str] = (
        "any characters but '/', control characters and line breaks, no '.' as the first "
        "character, and at most 255 bytes."
    )
    """The hint with the rule for valid names."""

    def __init__(self, message: str, *, name: str = "", hint: str = RULE) -> None:
        super().__init__(message, hint=hint)
        self.name = name


class StateCorruptError(StoreError):
    """Durable state is missing or does not match its checksum; nothing was changed."""


class LogMismatchError(StateCorruptError):
    """The durable log does not match the checkpoint: it was moved, emptied or replaced."""

    WAY_ON: ClassVar[str] = (
        "restore the durable log, or give the app the log that it has written. Otherwise start "
        "from a savepoint, or reset the app with `kstreams reset`: see docs/lost-state.md."
    )
    """The hint for an error because the log that the app has written is missing."""


class VersionGoneError(StoreError):
    """The version of a global table that a planned batch reads is not retained any more.

    Nothing was changed. The hint says how to let the batch read another version.
    """


class CheckpointMismatchError(ExecutionError, ValueError):
    """The checkpoint belongs to another topology, or to another app."""


class NoCheckpointError(KStreamsError, FileNotFoundError):
    """The app has no checkpoint at this location; fix the location, or run the app first."""

    __str__ = KStreamsError.__str__


class SavepointError(ExecutionError, ValueError):
    """A savepoint cannot be created, found or forked; nothing was changed."""


class ForeignDirectoryError(StoreOpenError):
    """A directory for working copies belongs to another user or is a link; it was not used.

    Attributes:
        path: The path of the directory.
    """

    def __init__(self, path: str | Path, problem: str) -> None:
        super().__init__(
            f"directory {path} is not safe for local state: {problem}",
            hint="check who created it, and remove it; or keep working copies elsewhere: "
            "RocksDB(directory=...), Memory(directory=...), or TMPDIR of driver and executors.",
        )
        self.path = str(path)
