"""The errors of tasks as JSON, so that the driver can raise them as the original error classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kstreams.batch.messages.error_json import from_json, to_json
from kstreams.errors import ExecutionError, KStreamsError, ProcessingError
from kstreams.quoting import kind_of, safe_text, text_of, traceback_of

__all__ = ("MAX_CHARS", "WorkerFailure", "error_from", "error_json", "read_error", "untyped")

MAX_CHARS = 30_000
"""The maximum length of each text of an error, in characters."""


class WorkerFailure(Exception):
    """An exception that was raised in a worker; its text contains the original traceback."""


def error_json(exc: BaseException) -> dict[str, Any]:
    """Return a worker's exception as JSON-compatible data.

    An exception that is not a `KStreamsError` becomes an `ExecutionError`.
    """
    try:
        return to_json(exc if isinstance(exc, KStreamsError) else untyped(exc), MAX_CHARS)
    except Exception:  # noqa: BLE001  # the user's error class may fail
        return to_json(untyped(exc), MAX_CHARS)


def error_from(data: Mapping[str, Any]) -> KStreamsError:
    """Return the error from the result of `error_json`.

    Unreadable data result in an `ExecutionError` with the reason.
    """
    try:
        return read_error(data)
    except (ValueError, KeyError, TypeError) as exc:
        return ExecutionError(
            f"the driver cannot read the error of a worker: {exc}",
            hint="all machines must run the same version of kstreams.",
        )


def read_error(data: Mapping[str, Any]) -> KStreamsError:
    """Return the error from the result of `to_json`, with the traceback of user code as its cause.

    Raises:
        ValueError, KeyError, TypeError: The data is damaged, or of another version of the library.
    """
    error = from_json(data)
    if isinstance(error, ProcessingError) and error.cause_traceback:
        error.__cause__ = WorkerFailure(error.cause_traceback.rstrip())
    return error


def untyped(exc: BaseException) -> ExecutionError:
    """Return an `ExecutionError` with the text of a worker's exception.

    Used for exceptions that are not a `KStreamsError`.
    """
    message = f"{kind_of(exc)} in a worker: {safe_text(text_of(exc), MAX_CHARS // 3)}"
    return ExecutionError(f"{message}\n{traceback_of(exc, MAX_CHARS // 3)}")
