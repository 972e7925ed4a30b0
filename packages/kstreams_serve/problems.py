"""Problem responses (RFC 9457), with the class, hint and location of the library's errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

from kstreams.errors import (
    CheckpointMismatchError,
    InvalidNameError,
    KStreamsError,
    NoCheckpointError,
    SavepointError,
    SerdeError,
    StoreError,
    StoreKindError,
)
from kstreams.quoting import safe_text, text_of

__all__ = ("PROBLEM", "Problem", "answer_of", "status_of")

PROBLEM = "application/problem+json"
_LONGEST = 2000

_STATUS: tuple[tuple[type[KStreamsError], int], ...] = (
    (NoCheckpointError, 503),
    (InvalidNameError, 400),
    (SavepointError, 404),
    (StoreKindError, 400),
    (SerdeError, 400),
    (CheckpointMismatchError, 409),
)


class Problem(Exception):
    """A rejected request.

    Args:
        status: The HTTP status.
        detail: The problem, with the expected and the actual value.
        hint: The next step for the caller.
        headers: Additional headers of the response.
    """

    def __init__(
        self, status: int, detail: str, *, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.hint = hint
        self.headers = dict(headers or {})


def status_of(problem: Problem | KStreamsError) -> int:
    """Return the HTTP status of a problem."""
    if isinstance(problem, Problem):
        return problem.status
    status = next((code for kind, code in _STATUS if isinstance(problem, kind)), 500)
    if status == 500 and type(problem) is StoreError:  # a version that is not there
        status = 410
    return status


def answer_of(problem: Problem | KStreamsError, *, tells: bool = False) -> Response:
    """Return the JSON response for a problem.

    Args:
        problem: The exception.
        tells: Whether the caller may see the texts of the library's errors, which name locations
            and may quote stored data; otherwise the response has only the class.
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
        if not tells:
            texts = {
                "detail": "the request failed",
                "hint": "a token of the role data shows the reason.",
            }
    content |= {name: safe_text(text, _LONGEST) for name, text in texts.items() if text}
    return Response(json.dumps(content), status, dict(headers), media_type=PROBLEM)
