"""The pause of an app, stored in its checkpoint; it lasts across restarts of the app."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass

from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.errors import KStreamsError
from kstreams.quoting import one_line
from kstreams.state.log.fields import Fields

__all__ = ("Pause", "PauseWatch", "pause", "present_pause", "resume")

_LOG = logging.getLogger(__name__)
_LONGEST = 500
_DIRECTORY_SECONDS = 0.25
_OBJECT_SECONDS = 5.0
"""The poll interval of a running app with object storage, where requests cost money."""


@dataclass(frozen=True)
class Pause:
    """A pause of an app, during which the app plans no batches.

    Attributes:
        since_ms: The start, ms since the epoch.
        reason: The reason of the user who paused the app; one line.
        by: The user, if known; one line.
    """

    since_ms: int
    reason: str
    by: str = ""

    @property
    def shown(self) -> str:
        """The reason, and the user if known, as text."""
        return f"{self.reason} (by {self.by})" if self.by else self.reason

    def to_bytes(self) -> bytes:
        """Return the pause as bytes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Pause:
        """Parse the result of `to_bytes`; damaged bytes count as a pause without a known reason."""
        try:
            fields = Fields(json.loads(data))
            reason, by = fields.text("reason"), fields.text("by", "")
            return cls(
                fields.integer("since_ms"), one_line(reason, _LONGEST), one_line(by, _LONGEST)
            )
        except (ValueError, RecursionError):
            return cls(0, "the stored reason of the pause cannot be read")


def pause(home: CheckpointHome, reason: str, now_ms: int, by: str = "") -> Pause:
    """Pause an app durably; return the effective pause, which may be an earlier one.

    Args:
        home: The storage of the checkpoint.
        reason: The displayed reason; at most 500 characters.
        now_ms: The current time, ms since the epoch.
        by: The user, if known.
    """
    made = Pause(now_ms, one_line(reason, _LONGEST), one_line(by, _LONGEST))
    home.note_pause(made.to_bytes())
    return present_pause(home) or made


def present_pause(home: CheckpointHome) -> Pause | None:
    """Return the pause of an app; None if the app is not paused."""
    data = home.pause_note()
    return None if data is None else Pause.from_bytes(data)


def resume(home: CheckpointHome) -> Pause | None:
    """End the pause of an app; return the pause, or None if the app was not paused."""
    found = present_pause(home)
    home.forget_pause()
    return found


class PauseWatch:
    """Polls the pause of a running app: every 0.25 s, or every 5 s with object storage.

    Args:
        home: The storage of the app's checkpoint.
        app: The app id, for the log.

    Attributes:
        known: The pause of the last poll.
    """

    def __init__(self, home: CheckpointHome, app: str) -> None:
        self._home = home
        self._app = app
        self._every = _OBJECT_SECONDS if home.directory is None else _DIRECTORY_SECONDS
        self._looked = float("-inf")
        self.known: Pause | None = None

    def present(self) -> Pause | None:
        """Return the current pause or None; polls the checkpoint if the interval has passed."""
        now = time.monotonic()
        if now - self._looked >= self._every:
            self._looked = now
            self._look()
        return self.known

    def _look(self) -> None:
        before = self.known
        try:
            self.known = present_pause(self._home)
        except (KStreamsError, OSError) as exc:  # the next look may go well
            _LOG.warning("app %s: whether it is paused is not known: %s", self._app, exc)
            return
        if self.known is not None and before is None:
            _LOG.warning(
                "app %s is paused: %s; `kstreams resume %s` ends that",
                self._app,
                self.known.shown,
                self._app,
            )
        if self.known is None and before is not None:
            _LOG.warning("app %s goes on", self._app)
