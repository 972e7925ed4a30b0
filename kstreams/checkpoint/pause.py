"""A pause of an app, which its checkpoint remembers: whoever starts it finds it paused."""

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
"""How often a running app looks: each look at an object storage is paid for."""


@dataclass(frozen=True)
class Pause:
    """Why an app plans nothing.

    Attributes:
        since_ms: Since when, ms since the epoch.
        reason: What whoever has paused it says; one line.
        by: Who that is, where it is known; one line.
    """

    since_ms: int
    reason: str
    by: str = ""

    @property
    def told(self) -> str:
        """Why, and by whom."""
        return f"{self.reason} (by {self.by})" if self.by else self.reason

    def to_bytes(self) -> bytes:
        """Return what is written down."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Pause:
        """Read what `to_bytes` returned; of what is damaged, that it is: the app stays paused."""
        try:
            fields = Fields(json.loads(data))
            reason, by = fields.text("reason"), fields.text("by", "")
            return cls(
                fields.integer("since_ms"), one_line(reason, _LONGEST), one_line(by, _LONGEST)
            )
        except (ValueError, RecursionError):
            return cls(0, "what was written down of the pause cannot be read")


def pause(home: CheckpointHome, reason: str, now_ms: int, by: str = "") -> Pause:
    """Pause an app, durably; return the pause that holds: an earlier one stays.

    Args:
        home: Its checkpoint.
        reason: Shown wherever the pause is; 500 characters at most.
        now_ms: The present time, ms since the epoch.
        by: Who does it, where that is known.
    """
    made = Pause(now_ms, one_line(reason, _LONGEST), one_line(by, _LONGEST))
    home.note_pause(made.to_bytes())
    return present_pause(home) or made


def present_pause(home: CheckpointHome) -> Pause | None:
    """Return an app's pause; None where it is not paused."""
    data = home.pause_note()
    return None if data is None else Pause.from_bytes(data)


def resume(home: CheckpointHome) -> Pause | None:
    """End an app's pause, and return it; None where it was not paused."""
    found = present_pause(home)
    home.forget_pause()
    return found


class PauseWatch:
    """Tells a running app whether it is paused; looks four times a second, or each 5 s on S3.

    Args:
        home: The app's checkpoint.
        app: Its id, for the log.

    Attributes:
        known: The pause that holds, as of the last look.
    """

    def __init__(self, home: CheckpointHome, app: str) -> None:
        self._home = home
        self._app = app
        self._every = _OBJECT_SECONDS if home.directory is None else _DIRECTORY_SECONDS
        self._looked = float("-inf")
        self.known: Pause | None = None

    def present(self) -> Pause | None:
        """Return the pause that holds; look for it, if the last look was some time ago."""
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
                self.known.told,
                self._app,
            )
        if self.known is None and before is not None:
            _LOG.warning("app %s goes on", self._app)
