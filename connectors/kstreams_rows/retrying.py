"""Another try of what may pass, and errors of a place as the library's."""

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
_WAIT = "check that it runs and that workers reach it; the batch comes again."


class Failures(Protocol):
    """What can go wrong, whether it passes, and what to raise for it."""

    @property
    def kinds(self) -> tuple[type[Exception], ...]:
        """Exceptions of a client; all others are none of the place's."""
        ...

    def may_pass(self, exc: Exception, /) -> bool:
        """Tell whether one is of the connection or the server, not of what is asked."""
        ...

    def error(self, exc: Exception, /) -> KStreamsError:
        """Return what to raise for one."""
        ...


@dataclass(frozen=True)
class Faults:
    """What can go wrong in a place.

    Attributes:
        place: What the place is called in errors.
        kinds: Exceptions of its client; all others are none of the place's.
        may_pass: Tells whether one is of the connection or the server, not of what is asked.
        code: The place's name for one.
        text: Says one without a secret.
        check: What to see to where the place refuses.
        read: Whether the place is a source, and no sink.
    """

    place: str
    kinds: tuple[type[Exception], ...]
    may_pass: Callable[[Exception], bool]
    code: Callable[[Exception], str]
    text: Callable[[Exception], str]
    check: str
    read: bool = False

    def error(self, exc: Exception) -> SinkError | SourceError:
        """Return what to raise for an exception of the client's."""
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
    """Return what some work gives, trying for a while; pauses double and are random in part.

    Args:
        work: Must be safe to repeat.
        faults: What can go wrong.
        give_up_after: No new try begins later than this.
        forget: Gives up the connection, after whatever was raised but a refusal of a record's.

    Raises:
        KStreamsError: As `faults` say: the place did not answer in all that time, or refuses.
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
    """Return a text without secrets, in any spelling that they have in addresses."""
    spelt = {form for secret in secrets for form in (secret, quote(secret), quote(secret, safe=""))}
    for form in sorted(spelt - {""}, key=len, reverse=True):
        text = text.replace(form, _HIDDEN)
    return text
