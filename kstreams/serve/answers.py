"""Answers of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

__all__ = ("json_answer", "text_answer")


def json_answer(content: object, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer of a value of JSON; what a text of the app cannot be in UTF-8 is escaped."""
    return text_answer(json.dumps(content, ensure_ascii=False), headers)


def text_answer(text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer of JSON that was written already."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate: JSON has an escape for it
        data = "".join(
            c if c < "\ud800" or c > "\udfff" else f"\\u{ord(c):04x}" for c in text
        ).encode()
    return Response(data, headers=dict(headers or {}), media_type="application/json")
