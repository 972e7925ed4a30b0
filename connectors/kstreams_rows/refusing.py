"""Descriptions of results that a store rejects."""

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
"""The maximum bytes of a value in a dead letter, where their text is up to four times as long."""


class Refusals:
    """Rejects rows of a batch once, even if the write is retried.

    Args:
        results: The batch's results.
        place: The name of the store in errors.
    """

    def __init__(self, results: Results[Any, Any], place: str) -> None:
        self._results = results
        self._place = place
        self._told = False

    def begin(self) -> None:
        """Start an attempt to write the batch.

        Raises:
            SinkUnavailableError: An earlier attempt has rejected rows before the connection was
                lost; the batch must be repeated.
        """
        if self._told:
            raise SinkUnavailableError(
                f"the connection to {self._place} was lost during a batch with refused rows",
                hint="no rows are lost: the batch is written again.",
            )

    def reject(self, rows: Sequence[RefusedRow]) -> None:
        """Reject rows, by the policy of the sink.

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
    """Return a rejected row; its dead letter has the row as JSON.

    Args:
        number: The number of the result in the batch.
        record: The result.
        reason: The reason.
        code: The store's error code.
        key: The row's key; by default the record's key.
        value: The row's value; by default the record's value.
    """
    own = _json(record.key if key is None else key)
    has = _json(record.value if value is None else value)
    letter = Record(own, has, record.timestamp, record.headers)
    return RefusedRow(number, reason[:_SHOWN], letter, code)


def reason_of(exc: BaseException) -> str:
    """Return the text of an exception as the reason of a rejection."""
    return f"{type(exc).__name__}: {exc}"


def _json(found: object) -> bytes | None:
    if found is None:
        return None
    try:
        return json.dumps(found, default=_text).encode()
    except (TypeError, ValueError, RecursionError):
        return json.dumps(str(found)).encode()


def _text(found: object) -> str:
    """Return the text of a value that JSON cannot represent; long bytes are truncated."""
    return str(found[:_MOST_BYTES] if isinstance(found, (bytes, bytearray)) else found)
