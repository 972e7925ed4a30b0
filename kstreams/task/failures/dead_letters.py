"""Dead letters: failed records with their errors, in a form that the topic accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kstreams.errors import EventTimeError, KStreamsError, RecordRefusedError
from kstreams.quoting import kind_of, safe_text, text_of
from kstreams.raw_batch import headers_of, named_headers
from kstreams.record import Headers, Record
from kstreams.task.records.queues import Queue
from kstreams.task.records.unframing import as_read
from kstreams.topic_limits import TopicLimits

__all__ = ("fitted", "letter_of_record", "letter_of_result")

_PREFIX = "kstreams-error-"
_REASONS = (
    *("class", "message", "node", "topic", "partition", "offset", "timestamp", "commit"),
    *("file", "record"),
)
_MAX_CHARS = 1_000
"""The maximum number of characters of each header that is added to a dead letter."""
_MAX_BYTES = 4_000
"""The maximum bytes of an added header in a dead letter that is shortened to fit its topic."""

_Bytes = Record["bytes | None", "bytes | None"]


def letter_of_record(queue: Queue, row: int, error: KStreamsError, wall_ms: int) -> _Bytes:
    """Return the dead letter of a failed record. An invalid time is clipped to the wall time."""
    table = as_read(queue.table.slice(row, 1))
    key, value = (table.column(name)[0].as_py() for name in ("key", "value"))
    place = queue.place(row)
    timestamp = place.pop("timestamp")
    reasons = {
        "class": kind_of(error),
        "message": error.message,
        "node": error.where.node or queue.entry,
        **place,
    }
    if isinstance(error, EventTimeError):
        reasons["timestamp"] = timestamp
        timestamp = min(max(timestamp, 0), wall_ms)
    (own,) = headers_of(table.column("headers"))
    return Record(key, value, timestamp, (*named_headers(own), *_headers(reasons)))


def letter_of_result(
    record: _Bytes, error: KStreamsError, *, node: str, topic: str, commit: str = ""
) -> _Bytes:
    """Return the dead letter of a result that its topic or another destination rejected.

    Args:
        record: The result.
        error: The error.
        node: The sink.
        topic: The topic or other destination of the sink.
        commit: The id of the result, if the sink does not write to a topic.
    """
    reasons = {"class": kind_of(error), "message": error.message, "node": node, "topic": topic}
    if commit:
        reasons["commit"] = commit
    return record.with_headers((*record.headers, *_headers(reasons)))


def fitted(letter: _Bytes, limits: TopicLimits, wall_ms: int) -> _Bytes:
    """Return the dead letter in a form that its topic accepts, with as much content as possible.

    Headers of the dead letter describe the changes. The header that ends in `-timestamp` has the
    original timestamp; `-left-out` lists the removed fields (`value`, `headers`, `key`). `-topic`,
    `-partition` and `-offset` identify the complete record.
    """
    low, high = limits.times(wall_ms)
    if not low <= letter.timestamp <= high:
        time = min(max(wall_ms, low), high)
        name = f"{_PREFIX}timestamp"
        is_said = letter.headers[-1:] and letter.headers[-1][0] == name
        said = () if is_said else _headers({"timestamp": letter.timestamp})
        letter = Record(letter.key, letter.value, time, (*letter.headers, *said))
    if limits.plain_names:
        headers = tuple((name.replace("\0", "\\0"), value) for name, value in letter.headers)
        letter = letter.with_headers(headers)
    if limits.needs_key and letter.key is None:
        letter = letter.with_key(_place(letter.headers))
    return _cut(letter, limits, wall_ms)


def _cut(letter: _Bytes, limits: TopicLimits, wall_ms: int) -> _Bytes:
    """Remove value, then headers, then key, until the dead letter fits its topic."""
    reasons = tuple(_said(letter.headers).items())
    forms: list[tuple[str, bytes | None, bytes | None, Headers]] = [
        ("value", letter.key, None, letter.headers),
        ("value, headers", letter.key, None, reasons),
        ("value, headers, key", _place(letter.headers), None, reasons),
    ]
    found = letter
    for left_out, key, value, headers in forms:
        if _fits(found, limits, wall_ms):
            return found
        said = _headers({"left-out": left_out})
        found = Record(key, value, letter.timestamp, (*headers, *said))
    return found


def _fits(letter: _Bytes, limits: TopicLimits, wall_ms: int) -> bool:
    try:
        limits.check(letter, wall_ms)
    except RecordRefusedError:
        return False
    return True


def _place(headers: Headers) -> bytes:
    """Return a key for a dead letter without one: topic, partition and offset of its record."""
    said = _said(headers)
    names = (f"{_PREFIX}{name}" for name in ("topic", "partition", "offset"))
    return b"/".join(said[name] for name in names if name in said)


def _said(headers: Headers) -> dict[str, bytes]:
    """Return the headers that describe the failure, each cut to the maximum length.

    If a name occurs several times, the last header counts, because the library added it.
    """
    names = {f"{_PREFIX}{name}" for name in _REASONS}
    return {name: (value or b"")[:_MAX_BYTES] for name, value in headers if name in names}


def _headers(reasons: Mapping[str, Any]) -> Headers:
    return tuple(
        (f"{_PREFIX}{name}", safe_text(text_of(text), _MAX_CHARS).encode())
        for name, text in reasons.items()
    )
