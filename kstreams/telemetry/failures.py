"""`failures.jsonl`: the last failures of an app.

    {"f": 1, "ms": .., "run": "9f0c..", "kind": "ProcessingError", "cause": "builtins.ValueError",
     "message": ".." or null, "hint": "..",
     "where": {"group": "lines", "node": "split", "topic": "lines", "partition": 3, "offset": 17}}

The message of an error that may quote a record is null unless the app has
`Telemetry(texts=True)`; the app's log contains it. Keys are never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kstreams.errors import KStreamsError, ProcessingError, RecordRefusedError, SerdeError
from kstreams.errors.topics import MisplacedKeyError
from kstreams.quoting import kind_of, safe_text, text_of
from kstreams.state.log.fields import MOST, Fields

__all__ = ("MOST_FAILURES", "Failure")

MOST_FAILURES = 20
"""Maximum number of failures that the reader returns."""

_QUOTING = (ProcessingError, SerdeError, RecordRefusedError, MisplacedKeyError)
_NAMES = ("app", "group", "node", "origin", "store", "target", "topic", "file")
_NUMBERS = ("partition", "offset", "timestamp", "record")
_MOST_CHARS = 4_000


@dataclass(frozen=True)
class Failure:
    """A failure of an app.

    Attributes:
        ms: Time of the failure, ms since the epoch.
        run: Id of the driver.
        kind: Name of the error's class.
        cause: Class name of the exception of user code; empty for other failures.
        message: The error message; None if it may quote a record.
        hint: The hint of the error.
        where: The known parts of the error's `Where`, except the key.
    """

    ms: int
    run: str
    kind: str
    cause: str = ""
    message: str | None = None
    hint: str = ""
    where: Mapping[str, str | int] = field(default_factory=dict)

    @classmethod
    def of(cls, error: KStreamsError, *, ms: int, run: str, texts: bool) -> Failure:
        """Return the failure to record for an error.

        Args:
            error: The error.
            ms: Time of the error, ms since the epoch.
            run: Id of the driver.
            texts: Whether the message may quote a record.
        """
        where = error.where
        quotes = isinstance(error, _QUOTING) or where.offset is not None or where.key is not None
        names = {name: getattr(where, name) for name in _NAMES}
        numbers = {name: getattr(where, name) for name in _NUMBERS}
        return cls(
            ms,
            run,
            kind_of(error),
            safe_text(text_of(getattr(error, "cause_type", "")), _MOST_CHARS),
            safe_text(text_of(error.message), _MOST_CHARS) if texts or not quotes else None,
            safe_text(text_of(error.hint), _MOST_CHARS),
            {
                **{
                    k: safe_text(text_of(v), _MOST_CHARS) for k, v in names.items() if v is not None
                },
                **{k: v for k, v in numbers.items() if type(v) is int},
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON data."""
        return {
            "ms": self.ms,
            "run": self.run,
            "kind": self.kind,
            "cause": self.cause,
            "message": self.message,
            "hint": self.hint,
            "where": dict(self.where),
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Failure:
        """Parse the result of `to_json`; a `ValueError` describes the first wrong field."""
        where = Fields(fields.mapping("where"))
        return cls(
            fields.integer("ms"),
            fields.text("run"),
            fields.text("kind"),
            fields.text("cause"),
            None if fields.anything("message") is None else fields.text("message"),
            fields.text("hint"),
            {
                **{name: where.text(name) for name in _NAMES if name in where},
                **{n: where.integer(n, least=-MOST) for n in _NUMBERS if n in where},
            },
        )
