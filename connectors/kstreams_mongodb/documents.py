"""Conversion of results to MongoDB documents, and rejection of invalid documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kstreams import Record
from kstreams.sinks import CommitId
from kstreams_mongodb.sdk import DeleteOne, ReplaceOne, bson
from kstreams_rows.encoding import Change

__all__ = ("OWN", "Document", "Fields", "change_of", "order_of", "request_of")

Fields: TypeAlias = Mapping[str, object]
"""Fields of a document, as pymongo takes them."""
Document: TypeAlias = dict[str, Any]
"""A whole document, with its `_id`."""

OWN = "kstreams"
"""The field of a document that stores its commit."""

_LARGEST = 16 * 1024 * 1024 - 1024
_REVISIONS = 1 << 16


def change_of(
    record: Record[Any, Any],
    name: Callable[[Any], object] | None,
    row: Callable[[Any, Any], Fields | None],
) -> Change[bytes, Document]:
    """Return the change of a record's document: a replacement, or a delete if it has no fields.

    Args:
        record: A result.
        name: Builds the `_id` from the key; None uses the key itself.
        row: Builds the fields.

    Raises:
        TypeError, ValueError, bson.errors.InvalidDocument, OverflowError: The row is not a valid
        document.
    """
    own = _identity(record.key if name is None else name(record.key))
    key = bson.encode({"_id": own})
    fields: object = row(record.key, record.value)
    if fields is None:
        return Change(key, None, len(key))
    if not isinstance(fields, Mapping):
        raise TypeError(
            f"row= returned a {type(fields).__name__}; expected a mapping of fields, or None"
        )
    if OWN in fields:
        raise ValueError(
            f"row= returned the field {OWN!r}, which is reserved for the sink: rename it"
        )
    if fields.get("_id", own) != own:
        raise ValueError(f"row= returned another _id than that of the record, {own!r}")
    wrong = [each for each in fields if not isinstance(each, str) or each.startswith("$")]
    if wrong:
        raise ValueError(
            f"row= returned the field name {wrong[0]!r}; expected a text that does not begin with "
            "'$'"
        )
    document = {"_id": own, **fields}
    size = len(bson.encode(document))
    if size > _LARGEST:
        raise ValueError(f"the document has {size:,} bytes; the maximum is {_LARGEST:,}")
    return Change(key, document, size)


def order_of(commit: CommitId) -> int:
    """Return the order of a commit in its epoch; a later commit has a larger number."""
    return commit.batch * _REVISIONS + min(commit.revision, _REVISIONS - 1)


def request_of(
    change: Change[bytes, Document], commit: CommitId
) -> ReplaceOne[Document] | DeleteOne:
    """Return a request that writes a change, unless a later commit (or this one) has written it.

    In that case a replacement fails with a duplicate `_id` (error 11000).
    """
    order = order_of(commit)
    newer = {f"{OWN}.epoch": commit.epoch, f"{OWN}.order": {"$gte": order}}
    where = {**bson.decode(change.key), "$nor": [newer]}
    if change.row is None:
        return DeleteOne(where)
    document = {**change.row, OWN: {"epoch": commit.epoch, "order": order}}
    return ReplaceOne(where, document, upsert=True)


def _identity(own: object) -> object:
    """Return an `_id` in normal form, because 1 and 1.0 are equal in MongoDB.

    Raises:
        TypeError, ValueError: The `_id` is invalid.
    """
    if own is None or isinstance(own, (list, tuple, set, frozenset)):
        raise TypeError(
            f"MongoDB cannot use a {type(own).__name__} as _id: build another one from the key "
            "with id="
        )
    if isinstance(own, Mapping) and any(str(name).startswith("$") for name in own):
        raise ValueError(
            f"MongoDB cannot use {own!r} as _id: it has a field name that begins with '$'"
        )
    return int(own) if isinstance(own, float) and own.is_integer() else own
