"""Request bodies, read with limits of size and time; and JSON responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from kstreams_admin.row_text import json_text
from kstreams_serve.problems import Problem
from kstreams_serve.settings import Limits

__all__ = ("form_body", "json_answer", "json_body", "text_answer")

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_MOST_FORM_BYTES = 8192
_MOST_FIELDS = 10


async def json_body(request: Request, limits: Limits) -> Mapping[str, Any]:
    """Return the body of a request, a JSON object.

    Raises:
        Problem: The body is not a JSON object, too large, or does not arrive in time.
    """
    data = await _body(request, _JSON, limits.body_bytes, limits)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise Problem(400, f"the body is not JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise Problem(400, "the body must be a JSON object")
    return found


async def form_body(request: Request, limits: Limits) -> Mapping[str, str]:
    """Return the fields of a form that a page has sent; the last value of a repeated field.

    Raises:
        Problem: The body is not a form, too large, or does not arrive in time.
    """
    data = await _body(request, _FORM, _MOST_FORM_BYTES, limits)
    try:
        pairs = parse_qsl(
            data.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError as exc:
        raise Problem(
            400, f"the body is not a form with at most {_MOST_FIELDS} ASCII fields"
        ) from exc
    return dict(pairs)


async def _body(request: Request, kind: str, most: int, limits: Limits) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip() != kind:
        raise Problem(415, f"Content-Type must be {kind}")
    try:
        return await asyncio.wait_for(_read(request, most), limits.head_seconds)
    except asyncio.TimeoutError as exc:
        raise Problem(408, f"the body did not arrive within {limits.head_seconds:g} s") from exc


async def _read(request: Request, most: int) -> bytes:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most:
            raise Problem(413, f"the body is larger than {most} bytes")
    return bytes(data)


def json_answer(content: object, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a JSON value; text of the app that is invalid in UTF-8 is escaped."""
    return text_answer(json_text(content), headers)


def text_answer(text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with JSON text."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate: JSON has an escape for it
        data = "".join(
            c if c < "\ud800" or c > "\udfff" else f"\\u{ord(c):04x}" for c in text
        ).encode()
    return Response(data, headers=dict(headers or {}), media_type="application/json")
