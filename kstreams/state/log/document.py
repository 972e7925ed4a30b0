"""JSON documents with their own name and a checksum.

Commits, plans, savepoints, first objects and `app.json` are such documents. The checksum covers the
whole content including the name, and the name contains app, epoch, query and number: a document
that was changed, truncated, or copied to another name is rejected. Documents of versions without
checksums have neither name nor checksum; such documents are read unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from kstreams.errors import KStreamsError, StateCorruptError
from kstreams.state.log.fields import Fields

__all__ = ("Document", "read_document", "seal")

T = TypeVar("T")
"""The type of a parsed document."""

_NAME = "document"
_SUM = "sum"
_SHOWN = 60


@dataclass(frozen=True)
class Document:
    """A stored document.

    Attributes:
        data: The bytes.
        digest: The checksum, hex, which identifies this content in other documents.
    """

    data: bytes
    digest: str


def seal(content: Mapping[str, Any], name: str, *, indent: int | None = None) -> Document:
    """Return the document for this content, with its name and checksum.

    Args:
        content: Plain data; later versions may add fields.
        name: The unique name of the document.
        indent: The indentation of nested lines for human readers; one line by default.
    """
    named = {**content, _NAME: name}
    text = _canonical(named)
    digest = _digest(text)
    if indent is not None:
        data = json.dumps({**named, _SUM: digest}, indent=indent)
    else:
        data = f'{text[:-1]},"{_SUM}":"{digest}"}}'
    return Document(data.encode(), digest)


def read_document(
    data: bytes,
    name: str,
    parse: Callable[[Fields, str], T],
    *,
    what: str,
    hint: str,
    sealed: bool = False,
) -> T:
    """Parse a document after checking it.

    Args:
        data: The bytes.
        name: The required name.
        parse: Called with the fields and the digest; raises `ValueError` for invalid fields.
        what: The document for error texts, such as `commit 'commits/...'`.
        hint: The hint for a rejected document.
        sealed: Whether a checksum is required.

    Raises:
        StateCorruptError: The document is empty, truncated, changed, or another document.
    """
    try:
        content, digest = _proved(data, name, sealed=sealed)
        return parse(Fields(content), digest)
    except KStreamsError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as exc:
        raise StateCorruptError(f"{what} cannot be read: {_reason(exc, data)}", hint=hint) from exc


def _proved(data: bytes, name: str, *, sealed: bool) -> tuple[dict[str, Any], str]:
    content = Fields(json.loads(data)).all()
    total, own = content.pop(_SUM, None), content.get(_NAME)
    if total is None and own is None and not sealed:
        return content, _digest(_canonical({**content, _NAME: name}))
    digest = _digest(_canonical(content))
    if total != digest:
        raise ValueError(
            "the content does not match its checksum: the document was changed or damaged"
        )
    if own != name:
        raise ValueError(f"the content is that of document {own!r}, which was copied to this name")
    del content[_NAME]
    return content, digest


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _reason(exc: Exception, data: bytes) -> str:
    if not data.strip():
        return "the document is empty"
    if isinstance(exc, RecursionError):
        return "the JSON is nested too deeply"
    if isinstance(exc, (json.JSONDecodeError, UnicodeDecodeError)):
        return f"the content is not JSON, or was cut short ({exc}): {data[:_SHOWN]!r}"
    return str(exc)
