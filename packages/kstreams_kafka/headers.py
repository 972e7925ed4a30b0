"""Converts the headers of records from and to the form of librdkafka's client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import methodcaller
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.errors import RecordRefusedError, Where
from kstreams.raw_batch import ID_HEADER, RawHeaders, header_pairs, headers_array
from kstreams.record import Headers
from kstreams_kafka.librdkafka import Message

__all__ = (
    "HeaderList",
    "check_names",
    "header_lists",
    "headers_column",
    "read_headers",
)

HeaderList = list[tuple[str, "str | bytes | None"]]
"""Headers in the form that librdkafka's client accepts."""

_HEADERS = methodcaller("headers")
"""Calls `headers` through C, which checks for errors: confluent-kafka 2.16 may return a result and
also set an error, which would otherwise surface somewhere later in the caller."""


def read_headers(messages: Sequence[Message]) -> list[RawHeaders]:
    """Return the headers of each message; () for a message without headers.

    The client cannot return headers with a name that is not UTF-8: they are replaced by one header
    without a name, whose value is that name.

    Args:
        messages: Messages whose headers were not read before: after a failed read, the client
            returns no headers.
    """
    return [each or () for each in _decoded_headers(messages)]


def headers_column(messages: Sequence[Message]) -> pa.Array:
    """Return the headers of messages as a column of `kstreams.raw_batch.HEADERS_TYPE`."""
    return headers_array(_decoded_headers(messages), check=False)


def _decoded_headers(messages: Sequence[Message]) -> list[Any]:
    found: list[Any] = []
    asked = map(_HEADERS, messages)
    while True:
        try:
            found.extend(asked)
        except (UnicodeDecodeError, SystemError) as exc:  # continues after the failed message
            found.append([(None, _undecoded(exc))])
        else:
            return found


def _undecoded(exc: BaseException) -> bytes:
    """Return the name that could not be decoded; several such names make a chain of errors."""
    while exc.__cause__ is not None:
        exc = exc.__cause__
    return exc.object if isinstance(exc, UnicodeDecodeError) else b""


def check_names(headers: Headers, where: Where) -> None:
    """Reject names that librdkafka cannot write unchanged.

    Raises:
        RecordRefusedError: A name cannot be encoded, or has a NUL, at which librdkafka would end
            the name.
    """
    for name, _ in headers:
        if "\0" in name or not _encodes(name):
            raise RecordRefusedError(
                f"the header name {name!r} cannot be written: the name has a NUL character or "
                "cannot be encoded as UTF-8",
                "_INVALID_ARG",
                hint="use header names of UTF-8 text without NUL.",
                where=where,
            )


def _encodes(name: str) -> bool:
    try:
        return name.isascii() or bool(name.encode())
    except UnicodeEncodeError:
        return False


def header_lists(column: pa.Array, ids: Sequence[bytes] | None) -> Iterator[HeaderList | None]:
    """Yield each row's headers, with its id last; None without headers.

    An id that another app wrote to the record is left out.

    Args:
        column: A column of `kstreams.raw_batch.HEADERS_TYPE`; null means no headers.
        ids: An id for each row; None if rows have no ids.
    """
    if column.null_count == len(column):
        if ids is None:
            yield from repeat(None, len(column))
        else:
            for own in ids:
                yield [(ID_HEADER, own)]
        return
    owners, pairs = header_pairs(column)
    names = pairs.field("key").to_numpy(zero_copy_only=False)
    values = pairs.field("value").to_numpy(zero_copy_only=False)
    kept = names != ID_HEADER
    ends = np.cumsum(np.bincount(owners[kept], minlength=len(column))).tolist()
    items: HeaderList = list(zip(names[kept].tolist(), values[kept].tolist(), strict=True))
    start = 0
    for number, end in enumerate(ends):
        last: HeaderList = [] if ids is None else [(ID_HEADER, ids[number])]
        yield [*items[start:end], *last] or None
        start = end
