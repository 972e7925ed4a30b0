"""The errors of tasks, as JSON between a worker and the driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kstreams.batch.messages.error_json import from_json, to_json
from kstreams.errors import ExecutionError, KStreamsError, ProcessingError
from kstreams.quoting import kind_of, safe_text, text_of, traceback_of

__all__ = ("WorkerFailure", "error_from", "error_json")

_MAX_CHARS = 30_000


class WorkerFailure(Exception):
    """The cause of an error in a worker, as text."""


def error_json(exc: BaseException) -> dict[str, Any]:
    """Return any exception as JSON-compatible data of a typed error."""
    try:
        return to_json(exc if isinstance(exc, KStreamsError) else _untyped(exc), _MAX_CHARS)
    except Exception:  # noqa: BLE001  # the user's error class may fail
        return to_json(_untyped(exc), _MAX_CHARS)


def error_from(data: Mapping[str, Any]) -> KStreamsError:
    """Return the error from the result of `error_json`."""
    try:
        error = from_json(data)
    except (ValueError, KeyError, TypeError) as exc:
        return ExecutionError(
            f"the driver cannot read the error of a worker: {exc}",
            hint="all machines must run the same version of kstreams.",
        )
    if isinstance(error, ProcessingError) and error.cause_traceback:
        error.__cause__ = WorkerFailure(error.cause_traceback.rstrip())
    return error


def _untyped(exc: BaseException) -> ExecutionError:
    message = f"{kind_of(exc)} in a worker: {safe_text(text_of(exc), _MAX_CHARS // 3)}"
    return ExecutionError(f"{message}\n{traceback_of(exc, _MAX_CHARS // 3)}")
