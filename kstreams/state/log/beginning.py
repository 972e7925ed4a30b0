"""What a commit log begins with."""

from __future__ import annotations

from dataclasses import dataclass

from kstreams.state.log.fields import Fields

__all__ = ("Beginning",)


@dataclass(frozen=True)
class Beginning:
    """What a commit log begins with: whose it is.

    Attributes:
        app: Id of the app.
        incarnation: Id of this life of its checkpoint.
        query: Name of the query.
        generation: How many times the query was started again on its state.
        seed: Digest of the commit that stands before all batches; empty without one.
    """

    app: str
    incarnation: str
    query: str
    generation: int = 0
    seed: str = ""

    @classmethod
    def from_json(cls, fields: Fields) -> Beginning:
        """Read its fields; `ValueError` says what is wrong with them."""
        return cls(
            fields.text("app"),
            fields.text("incarnation"),
            fields.text("query"),
            fields.integer("generation"),
            fields.text("seed"),
        )
