"""That a reset of a checkpoint has begun, where nothing can be moved aside in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kstreams.state.log.fields import Fields, checked_text

__all__ = ("Removal",)


@dataclass(frozen=True)
class Removal:
    """What the checkpoint's description says from the moment at which the app is removed.

    Attributes:
        claims: Names of the plans that keep a driver from going on that still runs: they stay.
        log: Whether a durable log that is not in the checkpoint goes too.
    """

    claims: tuple[str, ...]
    log: bool

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"claims": list(self.claims), "log": self.log}

    @classmethod
    def from_json(cls, data: object) -> Removal | None:
        """Read what `to_json` returned; None is None. `ValueError` says what is wrong with it."""
        if data is None:
            return None
        fields = Fields(data)
        claims = tuple(checked_text(name, "a plan that stays") for name in fields.items("claims"))
        return cls(claims, fields.flag("log"))
