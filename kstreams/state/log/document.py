"""JSON documents that prove themselves: each names itself and carries a checksum.

Commits, plans, savepoints, beginnings and `app.json` are such documents. The checksum is
over all of the content, the document's name among it, and the name says which app, life,
query and number it belongs to: what was changed, cut, or copied to another name is not
believed. What was written before there were checksums has neither name nor checksum; it is
read as it stands.
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
"""What a document describes."""

_NAME = "document"
_SUM = "sum"
_SHOWN = 60


@dataclass(frozen=True)
class Document:
    """A document as it is stored.

    Attributes:
        data: Its bytes.
        digest: Its checksum, hex: names this very content for other documents.
    """

    data: bytes
    digest: str


def seal(content: Mapping[str, Any], name: str, *, indent: int | None = None) -> Document:
    """Return a document of some content.

    Args:
        content: Plain data; more fields may join it later.
        name: Names the document, like no other.
        indent: How far nested lines go in, for what people read; one line by default.
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
    """Return what a document describes, once it is proved.

    Args:
        data: Its bytes.
        name: The name that it has to have.
        parse: Called with its fields and its digest; raises `ValueError` for what does not fit.
        what: What it is, for the error: `commit 'commits/...'`.
        hint: What to do when it is not to be believed.
        sealed: Whether it has to have a checksum.

    Raises:
        StateCorruptError: It is empty or cut, was changed, or is another document.
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
        raise ValueError("it does not match its checksum: it was changed")
    if own != name:
        raise ValueError(f"it is the document {own!r}, copied here from elsewhere")
    del content[_NAME]
    return content, digest


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _reason(exc: Exception, data: bytes) -> str:
    if not data.strip():
        return "it is empty"
    if isinstance(exc, RecursionError):
        return "it is nested too deeply"
    if isinstance(exc, (json.JSONDecodeError, UnicodeDecodeError)):
        return f"it is no JSON, or was cut ({exc}): {data[:_SHOWN]!r}"
    return str(exc)
