"""Retries of temporary failures, and the conversion of client errors to library errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from random import SystemRandom
from typing import Protocol, TypeVar
from urllib.parse import quote

from kstreams.errors import (
    KStreamsError,
    SinkError,
    SinkUnavailableError,
    SourceError,
    SourceUnavailableError,
)

__all__ = ("Failures", "Faults", "hidden", "retried")

T = TypeVar("T")
"""The type of an operation's result."""

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_JITTER = SystemRandom()  # not a seed's: workers must not pause in step
_HIDDEN = "***"
_WAIT = "check that the server runs and that workers can reach it; the batch is repeated."


class Failures(Protocol):
    """The rules that classify exceptions of a client and map them to library errors."""

    @property
    def kinds(self) -> tuple[type[Exception], ...]:
        """The exceptions of the client; all others are not failures of the store."""
        ...

    def may_pass(self, exc: Exception, /) -> bool:
        """Return whether an exception is temporary, because of the connection or the server."""
        ...

    def error(self, exc: Exception, /) -> KStreamsError:
        """Return the library error for an exception."""
        ...


@dataclass(frozen=True)
class Faults:
    """The rules that classify exceptions of a store's client and map them to library errors.

    Attributes:
        place: The name of the store in errors.
        kinds: The exceptions of its client; all others are not failures of the store.
        may_pass: Returns whether an exception is temporary, because of the connection or server.
        code: Returns the store's error code of an exception.
        text: Returns the text of an exception without secrets.
        check: The hint of the error if the store rejects a request.
        read: Whether the store is a source rather than a sink.
    """

    place: str
    kinds: tuple[type[Exception], ...]
    may_pass: Callable[[Exception], bool]
    code: Callable[[Exception], str]
    text: Callable[[Exception], str]
    check: str
    read: bool = False

    def error(self, exc: Exception) -> SinkError | SourceError:
        """Return the library error for an exception of the client."""
        passes, code = self.may_pass(exc), self.code(exc)
        what = "does not answer" if passes else "refuses"
        said = f"{self.place} {what}: {self.text(exc)}"
        hint = _WAIT if passes else self.check
        if self.read:
            return (SourceUnavailableError if passes else SourceError)(said, hint=hint)
        return (SinkUnavailableError if passes else SinkError)(said, code, hint=hint)


def retried(
    work: Callable[[], T],
    faults: Failures,
    give_up_after: timedelta,
    forget: Callable[[], None],
) -> T:
    """Return the result of an operation; retry temporary failures with backoff and jitter.

    Args:
        work: The operation; it must be safe to repeat.
        faults: The rules that classify the exceptions of the store.
        give_up_after: The time after the first attempt in which retries may begin.
        forget: Closes the connection; called after every error except a rejected record.

    Raises:
        KStreamsError: As `faults` defines: the store did not answer in time, or rejected the
            request.
    """
    end = time.monotonic() + give_up_after.total_seconds()
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return work()
        except faults.kinds as exc:
            forget()
            if isinstance(exc, KStreamsError):
                raise
            if not faults.may_pass(exc) or time.monotonic() + pause > end:
                raise faults.error(exc) from None  # its cause may repeat a secret
        except BaseException:
            forget()
            raise
        time.sleep(pause * _JITTER.uniform(0.5, 1.0))
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Return a text without secrets, also in the encodings that URLs use for them."""
    spelt = {form for secret in secrets for form in (secret, quote(secret), quote(secret, safe=""))}
    for form in sorted(spelt - {""}, key=len, reverse=True):
        text = text.replace(form, _HIDDEN)
    return text
