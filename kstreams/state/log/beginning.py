"""The first object of a commit log."""

from __future__ import annotations

from dataclasses import dataclass

from kstreams.state.log.fields import Fields

__all__ = ("Beginning",)


@dataclass(frozen=True)
class Beginning:
    """The first object of a commit log, which identifies its owner.

    Attributes:
        app: The app id.
        incarnation: The checkpoint id.
        query: The name of the query.
        generation: The number of new epochs of the query after its state was rewritten.
        seed: The digest of the commit before all batches; empty without one.
    """

    app: str
    incarnation: str
    query: str
    generation: int = 0
    seed: str = ""

    @classmethod
    def from_json(cls, fields: Fields) -> Beginning:
        """Parse its fields; a `ValueError` has the problem."""
        return cls(
            fields.text("app"),
            fields.text("incarnation"),
            fields.text("query"),
            fields.integer("generation"),
            fields.text("seed"),
        )
