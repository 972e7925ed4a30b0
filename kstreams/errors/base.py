"""The base class of all errors, and the location of an error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kstreams.quoting import repr_of, safe_text, text_of

__all__ = (
    "KStreamsError",
    "Where",
)


_PLACES = (
    *("app", "group", "node", "origin", "store", "target"),
    *("topic", "partition", "offset", "file", "record"),
)

_TITLES = {"origin": "defined at"}


_MAX_KEY_CHARS = 80


_MAX_NAME_CHARS = 300


E = TypeVar("E", bound="KStreamsError")
"""The error class that `KStreamsError.at` is called on."""


@dataclass(frozen=True)
class Where:
    """The location of an error. Unknown parts are None.

    Topic, partition, offset, timestamp and key describe one record. If a topic rejects a result,
    `target` is that topic, and the other attributes describe the input record of the result; an
    unknown key or timestamp is that of the result. For a record of a file, `file` names the file,
    and `record` is the record's number in the file, counted from 1. `origin` is the file and line
    of the code that defines the node.
    """

    app: str | None = None
    group: str | None = None
    node: str | None = None
    store: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    key: object = None
    target: str | None = None
    file: str | None = None
    record: int | None = None
    origin: str | None = None

    def __str__(self) -> str:
        """Return the known parts as text, outermost first; empty if none is known."""
        parts = [
            f"{_TITLES.get(name, name)} {repr_of(value, _MAX_NAME_CHARS)}"
            for name in _PLACES
            if (value := getattr(self, name)) is not None
        ]
        if self.timestamp is not None:
            parts.append(f"timestamp {repr_of(self.timestamp)} ms")
        if self.key is not None:
            parts.append(f"key {repr_of(self.key, _MAX_KEY_CHARS)}")
        return ", ".join(parts)


class KStreamsError(Exception):
    """The base class of all errors of the library.

    The text of an error is safe to log and print: quoted parts are escaped. `message` is unchanged.

    Args:
        message: The problem, with the expected and the actual value.
        hint: The next step for the reader, printed on a separate line.
        where: The location of the error. Callers add parts with `at`.
        place: The number of the failed record in the merged input of its task; `where` gets its
            topic, partition and offset from this number. None if it is not known.
    """

    message: str = ""
    hint: str = ""
    where: Where = Where()
    place: int | None = None

    def __init__(self, message: str, *, hint: str = "", where: Where | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where or Where()

    def __str__(self) -> str:
        """Return the message, then the location in brackets, then the hint."""
        place, hint = text_of(self.where), safe_text(text_of(self.hint))
        message = safe_text(text_of(self.message))
        text = f"{message} [{place}]" if place else message
        return f"{text}\nHint: {hint}" if hint else text

    def at(self: E, **known: object) -> E:
        """Set those parts of the location that are not known yet, and return this error."""
        missing: dict[str, Any] = {k: v for k, v in known.items() if getattr(self.where, k) is None}
        self.where = replace(self.where, **missing)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by class and fields, so that subclasses may have any arguments.

        A key that is not bytes, text or a number is replaced by its `repr`.
        """
        fields = dict(self.__dict__)
        key = self.where.key
        if key is not None and not isinstance(key, (bytes, str, int, float)):
            fields["where"] = replace(self.where, key=repr_of(key))
        return _rebuild, (type(self), fields)


def _rebuild(kind: type[KStreamsError], fields: dict[str, Any]) -> KStreamsError:
    error = kind.__new__(kind)
    Exception.__init__(error, fields["message"])
    error.__dict__.update(fields)
    return error
