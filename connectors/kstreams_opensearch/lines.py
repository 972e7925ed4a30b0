"""Conversion of results to lines of bulk requests, and rejection of invalid documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kstreams import Record
from kstreams.errors import SinkError
from kstreams.sinks import CommitId
from kstreams_rows.encoding import Change

__all__ = ("Fields", "change_of", "lines_of", "version_of")

Fields: TypeAlias = Mapping[str, object]
"""The fields of a document, with values that JSON can represent."""

_LONGEST_ID = 512
_REVISION_BITS, _BATCH_BITS, _EPOCH_BITS = 8, 36, 19


def change_of(
    record: Record[Any, Any],
    name: Callable[[Any], object] | None,
    row: Callable[[Any, Any], Fields | None],
) -> Change[str, bytes]:
    """Return the change of a record's document: a replacement, or a delete if it has no fields.

    Args:
        record: A result.
        name: Builds the id from the key; None uses the key itself.
        row: Builds the fields.

    Raises:
        TypeError, ValueError: The id or the fields are invalid.
    """
    own = record.key if name is None else name(record.key)
    if isinstance(own, int) and not isinstance(own, bool):
        own = str(own)
    if not isinstance(own, str):
        raise TypeError(
            f"a document id must be a text or an integer, got a {type(own).__name__}: build one "
            "from the key with id="
        )
    size = len(own.encode())
    if not 1 <= size <= _LONGEST_ID:
        raise ValueError(f"the document id has {size} bytes; expected 1 to {_LONGEST_ID}")
    fields: object = row(record.key, record.value)
    if fields is None:
        return Change(own, None, size)
    if not isinstance(fields, Mapping):
        raise TypeError(
            f"row= returned a {type(fields).__name__}; expected a mapping of fields, or None"
        )
    source = json.dumps(dict(fields), allow_nan=False, ensure_ascii=False).encode()
    return Change(own, source, len(source))


def lines_of(change: Change[str, bytes], version: int) -> bytes:
    """Return the lines of a bulk request for a change."""
    named = {"_id": change.key, "version": version, "version_type": "external_gte"}
    if change.row is None:
        return json.dumps({"delete": named}).encode() + b"\n"
    return json.dumps({"index": named}).encode() + b"\n" + change.row + b"\n"


def version_of(epoch: int, commit: CommitId) -> int:
    """Return the version of a commit's documents; it is higher for later commits and epochs.

    Args:
        epoch: The number of the commit's epoch; see `Service.epoch`.
        commit: The commit.

    Raises:
        SinkError: The epoch or batch number is too large for a version of 63 bits.
    """
    if epoch >> _EPOCH_BITS or commit.batch >> _BATCH_BITS or commit.revision >> _REVISION_BITS:
        raise SinkError(
            f"no document version is left for commit {commit}: the numbers of epochs, batches or "
            "plan revisions are used up",
            hint="write to a new index, and set another own=.",
        )
    return ((epoch << _BATCH_BITS | commit.batch) << _REVISION_BITS) | commit.revision
