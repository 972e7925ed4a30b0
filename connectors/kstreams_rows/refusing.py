"""What is said of a result that a place does not take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kstreams import Record
from kstreams.errors import SinkUnavailableError
from kstreams.sinks import RefusedRow, Results

__all__ = ("Refusals", "reason_of", "refused")

_SHOWN = 500
_MOST_BYTES = 1024 * 1024
"""Of bytes that a letter has, which are four times as many there."""


class Refusals:
    """Refuses rows of a batch once, though what writes them may have to begin again.

    Args:
        results: The batch's results.
        place: What the place is called.
    """

    def __init__(self, results: Results[Any, Any], place: str) -> None:
        self._results = results
        self._place = place
        self._told = False

    def begin(self) -> None:
        """Begin to write, for the first time or again.

        Raises:
            SinkUnavailableError: Rows were refused, and then the connection was lost: what becomes
                of them is known when the batch comes again.
        """
        if self._told:
            raise SinkUnavailableError(
                f"{self._place} was lost when a batch with refused rows was written",
                hint="nothing is lost: the batch comes again.",
            )

    def tell(self, rows: Sequence[RefusedRow]) -> None:
        """Refuse rows.

        Raises:
            RecordRefusedError: The sink's policy is to fail.
        """
        for row in rows:
            self._told = True
            self._results.refuse(row)


def refused(
    number: int,
    record: Record[Any, Any],
    reason: str,
    code: str = "",
    *,
    key: object = None,
    value: object = None,
) -> RefusedRow:
    """Return what is said of a row that cannot be written: its letter has JSON of it.

    Args:
        number: Of the result among the batch's.
        record: The result.
        reason: Why.
        code: The place's name for that.
        key: What names the row; the record's key unless it is given.
        value: What the row has; the record's value unless it is given.
    """
    own = _json(record.key if key is None else key)
    has = _json(record.value if value is None else value)
    letter = Record(own, has, record.timestamp, record.headers)
    return RefusedRow(number, reason[:_SHOWN], letter, code)


def reason_of(exc: BaseException) -> str:
    """Return an exception as the reason of a refusal."""
    return f"{type(exc).__name__}: {exc}"


def _json(found: object) -> bytes | None:
    if found is None:
        return None
    try:
        return json.dumps(found, default=_text).encode()
    except (TypeError, ValueError, RecursionError):
        return json.dumps(str(found)).encode()


def _text(found: object) -> str:
    """Return as text what JSON has no form for; of many bytes the first."""
    return str(found[:_MOST_BYTES] if isinstance(found, (bytes, bytearray)) else found)
