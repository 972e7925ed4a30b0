"""Errors as answers: RFC 9457, with the class, the hint and the place that the library has."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

from kstreams.errors import (
    CheckpointMismatchError,
    KStreamsError,
    NoCheckpointError,
    SavepointError,
    SerdeError,
    StoreError,
    StoreKindError,
)
from kstreams.quoting import safe_text, text_of

__all__ = ("Problem", "answer_of")

_STATUS: tuple[tuple[type[KStreamsError], int], ...] = (
    (NoCheckpointError, 503),
    (SavepointError, 404),
    (StoreKindError, 400),
    (SerdeError, 400),
    (CheckpointMismatchError, 409),
)


class Problem(Exception):
    """A request that is not answered.

    Args:
        status: The HTTP status.
        detail: What was wrong with it, expected against got.
        hint: What the caller can do.
        headers: More headers of the answer.
    """

    def __init__(
        self, status: int, detail: str, *, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.hint = hint
        self.headers = dict(headers or {})


def answer_of(problem: Problem | KStreamsError) -> Response:
    """Return what a problem looks like to the caller."""
    if isinstance(problem, Problem):
        return _answer(problem.status, problem.detail, problem.hint, "", problem.headers)
    status = next((code for kind, code in _STATUS if isinstance(problem, kind)), 500)
    if status == 500 and type(problem) is StoreError:  # a version that is not there
        status = 410
    return _answer(
        status, text_of(problem.message), text_of(problem.hint), type(problem).__name__, {}
    )


def _answer(status: int, detail: str, hint: str, kind: str, headers: Mapping[str, str]) -> Response:
    content: dict[str, object] = {"status": status, "detail": safe_text(detail, 2000)}
    if kind:
        content["type"] = f"urn:kstreams:{kind}"
    if hint:
        content["hint"] = safe_text(hint, 2000)
    return Response(
        json.dumps(content), status, dict(headers), media_type="application/problem+json"
    )
