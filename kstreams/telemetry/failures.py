"""`failures.jsonl`: what an app has failed by, the last ones.

    {"f": 1, "ms": .., "run": "9f0c..", "kind": "ProcessingError", "cause": "builtins.ValueError",
     "message": ".." or null, "hint": "..",
     "where": {"group": "lines", "node": "split", "topic": "lines", "partition": 3, "offset": 17}}

The message of an error that may quote a record is null, unless the app was given
`Telemetry(texts=True)`: its log has it. A key is never there.
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
"""How many the reader returns."""

_QUOTING = (ProcessingError, SerdeError, RecordRefusedError, MisplacedKeyError)
_NAMES = ("app", "group", "node", "store", "target", "topic", "file")
_NUMBERS = ("partition", "offset", "timestamp", "record")
_MOST_CHARS = 4_000


@dataclass(frozen=True)
class Failure:
    """What an app has failed by.

    Attributes:
        ms: When, ms since the epoch.
        run: Id of the driver.
        kind: Name of the error's class.
        cause: Name of the class that the user's code raised; empty if it was not that.
        message: What went wrong; None where it may quote a record.
        hint: What to do about it.
        where: The place: parts of a `Where` that are known, the key apart.
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
        """Return what may be written down of an error.

        Args:
            error: The error.
            ms: When it was, ms since the epoch.
            run: Id of the driver.
            texts: Whether its message may quote a record.
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
        """Return plain data."""
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
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
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
