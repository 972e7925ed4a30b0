"""Transports errors from Spark's Python workers to the driver.

Spark passes only the text of a worker's exception to the driver, within other text, perhaps several
times. So the text contains the error as JSON. The JSON is signed with a random secret, because the
text can also quote records, and a record must not be able to forge an error.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from kstreams.batch.messages.error_json import to_json
from kstreams.errors import ExecutionError, KStreamsError
from kstreams.quoting import kind_of, one_line, safe_text, text_of
from kstreams.workers.failure import MAX_CHARS, WorkerFailure, read_error, untyped

__all__ = ("ErrorChannel", "jvm_is_gone", "translated", "typed")

_LOG = logging.getLogger(__name__)
_BEGIN = "<<kstreams-error:"
_MARK = re.compile(_BEGIN + r"([A-Za-z0-9+/=]{1,2000000}):([0-9a-f]{64})>>")
_BRIEF_CHARS = 300
_MAX_TEXT = 1_000_000
_FRAMES = re.compile(r"\n[ \t]+at [^\n(]{1,300}\(.*|\n[ \t]+\.\.\. \d+ more|\nDriver stacktrace:.*")


@dataclass(frozen=True)
class ErrorChannel:
    """Wraps errors in workers, and restores them on the driver.

    The object is pickled with the function that workers run.

    Attributes:
        secret: A random secret of this run, which no record or text can contain.
    """

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def wrap(self, exc: BaseException) -> WorkerFailure:
        """Wrap an error in an exception that Spark passes to the driver."""
        try:
            return self._wrapped(exc if isinstance(exc, KStreamsError) else untyped(exc))
        except Exception:  # noqa: BLE001  # the user's error class may fail
            return self._wrapped(untyped(exc))

    def _wrapped(self, error: KStreamsError) -> WorkerFailure:
        text = safe_text(text_of(error), MAX_CHARS).replace(_BEGIN, "<< kstreams-error:")
        # The brief form is for a text that is cut; the last that is whole counts.
        brief, whole = self._mark(error, _BRIEF_CHARS), self._mark(error, MAX_CHARS)
        return WorkerFailure(f"{one_line(text, _BRIEF_CHARS)}\n{brief}\n{text}\n{whole}")

    def find(self, exc: BaseException) -> KStreamsError | None:
        """Return the error that `wrap` put into a Spark exception; None if there is none."""
        if isinstance(exc, KStreamsError):
            return exc
        for found in reversed(list(_MARK.finditer(text_of(exc)))):
            data, signature = found[1].encode(), found[2]
            if not hmac.compare_digest(self._signature(data), signature):
                continue
            try:
                return read_error(json.loads(base64.b64decode(data)))
            except (ValueError, KeyError, TypeError):  # written by another version of the library
                continue
        return None

    def _mark(self, error: KStreamsError, limit: int) -> str:
        data = base64.b64encode(json.dumps(to_json(error, limit)).encode())
        return f"{_BEGIN}{data.decode()}:{self._signature(data)}>>"

    def _signature(self, data: bytes) -> str:
        return hmac.new(self.secret, data, hashlib.sha256).hexdigest()


def jvm_is_gone(exc: BaseException) -> bool:
    """Return whether a Spark call failed because the JVM has ended.

    A call during the end of the JVM raises Py4J's plain error; a Java exception is a subclass.
    """
    return type(exc) is Py4JError or isinstance(exc, (Py4JNetworkError, ConnectionError))


def typed(exc: BaseException) -> KStreamsError:
    """Return the `KStreamsError` for any exception that ended a query.

    The Java stack trace of an exception is logged at level DEBUG and is not part of the error.
    """
    if isinstance(exc, KStreamsError):
        return exc
    if jvm_is_gone(exc):
        text = f"Spark's JVM has ended, or was killed ({kind_of(exc)}: {text_of(exc)})"
    elif isinstance(exc, PySparkException):
        text = f"Spark failed: {exc.getMessage() or text_of(exc)}"
    elif isinstance(exc, Py4JError):
        text = f"Spark failed: {text_of(exc)}"
    else:
        text = f"{kind_of(exc)}: {text_of(exc)}"
    error = ExecutionError(
        _without_frames(text),
        hint="the failed batch was rolled back: fix the cause and restart. The log has the stack "
        "at the level DEBUG.",
    )
    if isinstance(exc, (PySparkException, Py4JError)) and not jvm_is_gone(exc):
        _LOG.debug("Spark failed:", exc_info=exc)
    else:
        error.__cause__ = exc
    return error


@contextmanager
def translated() -> Iterator[None]:
    """Raise exceptions of the `with` block as `KStreamsError`; see `typed`."""
    try:
        yield
    except Exception as exc:
        error = typed(exc)
        if error is exc:
            raise
        raise error from error.__cause__


def _without_frames(text: str) -> str:
    """Remove the Java stack from a text, and the middle of a text that is still long."""
    short = _FRAMES.sub("", text[:_MAX_TEXT])
    return short if len(short) <= 2_000 else f"{short[:800]}\n…\n{short[-1_000:]}"
