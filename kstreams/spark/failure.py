"""Carry a typed error from a worker through Spark's text-only errors to the driver."""

from __future__ import annotations

import base64
import pickle
import re
import traceback

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from kstreams.errors import ExecutionError, KStreamsError, ProcessingError

__all__ = ("WorkerFailure", "as_failure", "find_failure", "jvm_is_gone", "typed")

_MARK = re.compile(r"<<kstreams-error:([A-Za-z0-9+/=]+)>>")
_MAX_CHARS = 30_000


class WorkerFailure(Exception):
    """What a worker raises: readable text, with the typed error inside."""


def as_failure(exc: Exception) -> WorkerFailure:
    """Wrap an error for the way to the driver."""
    if isinstance(exc, KStreamsError):
        error = exc
    else:
        text = "".join(traceback.format_exception(type(exc), exc, exc.__traceback__))
        error = ExecutionError(f"{type(exc).__name__} in a worker: {exc}\n{text}")
    if isinstance(error, ProcessingError):
        error.cause_traceback = error.cause_traceback[-_MAX_CHARS:]
    error.message = error.message[:_MAX_CHARS]
    data = base64.b64encode(_pickled(error)).decode()
    return WorkerFailure(f"{error}\n<<kstreams-error:{data}>>")


def find_failure(exc: BaseException) -> KStreamsError | None:
    """Return the typed error inside an error of Spark's, or None."""
    if isinstance(exc, KStreamsError):
        return exc
    found = _MARK.search(str(exc))
    if found is None:
        return None
    try:
        error = pickle.loads(base64.b64decode(found[1]))  # written by our own worker
    except Exception:  # noqa: BLE001  # a class of the user's that the driver cannot find
        return None
    if isinstance(error, ProcessingError) and error.cause_traceback:
        error.__cause__ = WorkerFailure(error.cause_traceback)
    return error if isinstance(error, KStreamsError) else None


def jvm_is_gone(exc: BaseException) -> bool:
    """Tell whether a call of Spark's failed because there is no JVM any more.

    A call under way when it ends raises Py4J's plain error; a Java exception is a subclass.
    """
    return type(exc) is Py4JError or isinstance(exc, (Py4JNetworkError, ConnectionError))


def typed(exc: BaseException) -> KStreamsError:
    """Return what an app raises for anything that ended one of its queries."""
    found = find_failure(exc)
    if found is not None:
        return found
    if jvm_is_gone(exc):
        text = f"Spark's JVM has ended, or was killed ({type(exc).__name__}: {exc})"
    elif isinstance(exc, PySparkException):
        text = f"Spark failed: {exc.getMessage() or exc}"
    else:
        text = f"{type(exc).__name__}: {exc}"
    error = ExecutionError(
        text[:4_000], hint="nothing of the failed batch was kept; see the cause and restart"
    )
    error.__cause__ = exc
    return error


def _pickled(error: KStreamsError) -> bytes:
    try:
        return pickle.dumps(error)
    except Exception:  # noqa: BLE001  # fields of a class of the user's
        return pickle.dumps(ExecutionError(str(error), where=error.where))
