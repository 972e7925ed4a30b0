"""Rejected requests, and the HTTP statuses of errors; settings use this module without a server."""

from __future__ import annotations

from collections.abc import Mapping

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

__all__ = ("Problem", "status_of")

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
