"""The record of a started reset, for storage where a checkpoint cannot be moved atomically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kstreams.state.log.fields import Fields, checked_text

__all__ = ("Removal",)


@dataclass(frozen=True)
class Removal:
    """The field of a checkpoint's app description which records that a reset has started.

    Attributes:
        claims: The names of plans that the reset keeps. A driver that still runs fails when it
            writes a plan of such a name.
        log: Whether to remove a separate durable log, too.
    """

    claims: tuple[str, ...]
    log: bool

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"claims": list(self.claims), "log": self.log}

    @classmethod
    def from_json(cls, data: object) -> Removal | None:
        """Parse the result of `to_json`; None gives None. Raises `ValueError` for invalid data."""
        if data is None:
            return None
        fields = Fields(data)
        claims = tuple(checked_text(name, "a plan that stays") for name in fields.items("claims"))
        return cls(claims, fields.flag("log"))
