"""Problem responses (RFC 9457), with the class, hint and location of the library's errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

from kstreams.errors import KStreamsError
from kstreams.quoting import safe_text, text_of
from kstreams_serve.problems import Problem, status_of

__all__ = ("PROBLEM", "answer_of")

PROBLEM = "application/problem+json"
_LONGEST = 2000


def answer_of(problem: Problem | KStreamsError, *, shows_details: bool = False) -> Response:
    """Return the JSON response for a problem.

    Args:
        problem: The exception.
        shows_details: Whether the response has the texts of the library's errors, which name
            locations and may quote stored data; otherwise it has only the class of the error.
    """
    status = status_of(problem)
    content: dict[str, object] = {"status": status, "title": HTTPStatus(status).phrase}
    headers: Mapping[str, str] = {}
    if isinstance(problem, Problem):
        texts = {"detail": problem.detail, "hint": problem.hint}
        headers = problem.headers
    else:
        content["type"] = f"urn:kstreams:{type(problem).__name__}"
        texts = {
            "detail": text_of(problem.message),
            "hint": text_of(problem.hint),
            "place": text_of(problem.where),
        }
        if not shows_details:
            texts = {
                "detail": "the request failed",
                "hint": "a token of the role data shows the reason.",
            }
    content |= {name: safe_text(text, _LONGEST) for name, text in texts.items() if text}
    return Response(json.dumps(content), status, dict(headers), media_type=PROBLEM)
