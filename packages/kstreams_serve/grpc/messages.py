"""Conversion of the service's requests to queries, and of rows to messages."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from kstreams.serde.base import Serde
from kstreams.views.store_reads import StoreReads
from kstreams_admin.flat_rows import columns_of, key_serde
from kstreams_admin.row_text import RowText, json_text
from kstreams_serve.grpc import state_pb2 as pb
from kstreams_serve.paging import Make, Row
from kstreams_serve.parameters import Parameters, key_of
from kstreams_serve.pinned_version import PinnedStores
from kstreams_serve.problems import Problem
from kstreams_serve.version_parameters import AsOf, as_of_in

__all__ = ("as_of", "committed", "key", "key_rows", "page_rows", "parameters")

_TIME = "_ms"


def as_of(version: pb.Version) -> AsOf:
    """Return the version that a message requests.

    Raises:
        Problem: The message is not a valid version.
    """
    return as_of_in(_version(version))


def _version(version: pb.Version) -> dict[str, Any]:
    match version.WhichOneof("which"):
        case "batch":
            return {"as_of": version.batch}
        case "savepoint":
            return {"as_of": version.savepoint}
        case "at_ms":
            return {"at": f"@{version.at_ms}"}
        case "least":
            return {"min_version": version.least}
    return {}


def key(given: pb.Key, serde: Serde[Any], limit: int) -> object:
    """Return the key of a message.

    Raises:
        Problem: The serde cannot read the key, or it exceeds the limit.
    """
    match given.WhichOneof("form"):
        case "data":
            return key_of(serde, b64encode(given.data).decode(), "base64", 2 * limit)
        case "text":
            return key_of(serde, given.text, "text", limit)
        case "json":
            return key_of(serde, given.json, "json", limit)
    raise Problem(400, "the key is empty: set data, text or json")


def parameters(request: pb.RowsRequest, serde: Serde[Any], limit: int) -> Parameters:
    """Return the query parameters of a request for rows, with keys as bytes.

    Args:
        request: The request.
        serde: The serde of the keys.
        limit: The maximum bytes of a key.

    Raises:
        Problem: The serde cannot read a key.
    """
    found: dict[str, str] = {name: str(each) for name, each in _version(request.version).items()}
    for name in ("start", "end"):
        if request.HasField(name):
            data = serde.serialize(key(getattr(request, name), serde, limit))
            found[name] = b64encode(data).decode()
    if request.HasField("prefix"):
        found["prefix"] = b64encode(request.prefix).decode()
    if found.keys() & {"start", "end", "prefix"}:
        found["key_format"] = "base64"
    if request.HasField("from_ms"):
        found["from"] = str(request.from_ms)
    if request.HasField("to_ms"):
        found["to"] = str(request.to_ms)
    if request.reverse:
        found["reverse"] = "true"
    if request.cursor:
        found["cursor"] = request.cursor
    return Parameters(found)


def committed(pinned: PinnedStores) -> pb.Committed:
    """Return the message that describes the version of a reply."""
    return pb.Committed(batch=pinned.batch, wall_ms=pinned.wall_ms, tag=pinned.tag.strip('"'))


def page_rows(reads: StoreReads[Any], *, as_json: bool) -> Make[pb.Row]:
    """Return a function that converts a row to a message, and returns its size in bytes too.

    With `as_json`, a message also has the row as JSON text.
    """
    return _Rows(reads, columns_of(reads), as_json=as_json).sized_message


def key_rows(
    reads: StoreReads[Any], *, as_json: bool
) -> Callable[[list[Row]], tuple[list[pb.Row], int]]:
    """Return a function that converts the rows of a key to messages.

    The function also returns their total size in bytes. With `as_json`, messages also have the
    rows as JSON text.
    """
    rows = _Rows(reads, ("key", *reads.spec.kind.columns_of_key), as_json=as_json)

    def made(found: list[Row]) -> tuple[list[pb.Row], int]:
        messages = [rows.message_of_key(row) for row in found]
        return messages, sum(message.ByteSize() for message in messages)

    return made


class _Rows:
    """Converts rows to messages, with keys and values serialized by the app's serdes."""

    def __init__(self, reads: StoreReads[Any], columns: tuple[str, ...], *, as_json: bool) -> None:
        self._columns = columns
        self._key = key_serde(reads)
        self._value = reads.spec.value
        self._text = RowText(reads.spec, self._key, columns) if as_json else None

    def sized_message(self, row: Row) -> tuple[pb.Row, int]:
        message = self._message(row[1:])
        message.key = self._key.serialize(row[0])
        if self._text is not None:
            message.json = self._text.text(row)
        return message, message.ByteSize()

    def message_of_key(self, row: Row) -> pb.Row:
        message = self._message(row)
        if self._text is not None:
            message.json = json_text(self._text.row(row, key=False))
        return message

    def _message(self, parts: Row) -> pb.Row:
        message = pb.Row()
        for name, part in zip(self._columns[1:], parts, strict=False):
            if name.endswith(_TIME):
                if part is not None:
                    message.times[name] = part
            elif part is not None:
                message.value = self._value.serialize(part)
        return message
