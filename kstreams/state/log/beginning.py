"""The first object of a commit log."""

from __future__ import annotations

from dataclasses import dataclass

from kstreams.state.log.fields import Fields
from kstreams.state.log.stored_names import STORED_NAMES

__all__ = ("Beginning",)


@dataclass(frozen=True)
class Beginning:
    """The first object of a commit log, which identifies its owner.

    Attributes:
        app: The app id.
        checkpoint_id: The checkpoint id.
        query: The name of the query.
        epoch_number: The number of the query's epoch; an upgrade that rewrites state increases it.
        seed: The digest of the initial commit of a fork or upgrade; empty without one.
    """

    app: str
    checkpoint_id: str
    query: str
    epoch_number: int = 0
    seed: str = ""

    def __str__(self) -> str:
        return (
            f"app {self.app!r} (checkpoint id {self.checkpoint_id}, query {self.query!r}, "
            f"epoch number {self.epoch_number}, seed {self.seed or 'none'})"
        )

    @classmethod
    def from_json(cls, fields: Fields) -> Beginning:
        """Parse the fields of a stored `Beginning`. Raises `ValueError` if a field is invalid."""
        return cls(
            fields.text("app"),
            fields.text(STORED_NAMES["checkpoint_id"]),
            fields.text("query"),
            fields.integer(STORED_NAMES["epoch_number"]),
            fields.text("seed"),
        )
