"""The report of a shadow: the compared results so far, which a killed run continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kstreams.quoting import one_line
from kstreams.state.log.fields import Fields, WrongFieldError, checked_text
from kstreams_shadow.comparison import Difference, Tally, Verdict

__all__ = ("MOST_EXAMPLES", "Compared", "Example", "Position", "Report")

MOST_EXAMPLES = 20
"""The maximum number of examples of a sink or store."""
_LONGEST = 300
_VERDICTS: tuple[Verdict, ...] = ("different", "only old", "only new")


@dataclass(frozen=True)
class Example:
    """A difference, with its batch.

    Attributes:
        batch: The number of the app's batch.
        difference: The results; long texts are shortened.
    """

    batch: int
    difference: Difference

    @classmethod
    def of(cls, batch: int, found: Difference) -> Example:
        """Return an example with short texts."""
        key, old, new = (None if each is None else one_line(each, _LONGEST) for each in found[1:])
        return cls(batch, Difference(found.verdict, key or "", old, new))

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"batch": self.batch, **self.difference._asdict()}

    @classmethod
    def from_json(cls, data: object) -> Example:
        """Parse the result of `to_json`; raises `ValueError` if a field is invalid."""
        fields = Fields(data)
        texts = (fields.anything(side) for side in ("old", "new"))
        verdicts: list[Verdict] = [each for each in _VERDICTS if each == fields.anything("verdict")]
        if not verdicts:
            raise WrongFieldError(f"unknown verdict {fields.anything('verdict')!r}")
        values = [None if text is None else checked_text(text, "a value") for text in texts]
        found = Difference(verdicts[0], fields.text("key"), values[0], values[1])
        return cls(fields.integer("batch", least=-1), found)


@dataclass(frozen=True)
class Compared:
    """The comparison of one sink or store.

    Attributes:
        tally: The numbers of results.
        examples: The first differences.
    """

    tally: Tally = field(default_factory=Tally)
    examples: Sequence[Example] = ()

    def __add__(self, other: Compared) -> Compared:
        """Return both comparisons together; the first examples stay."""
        examples = (*self.examples, *other.examples)[:MOST_EXAMPLES]
        return Compared(self.tally + other.tally, examples)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        examples = [each.to_json() for each in self.examples]
        return {**self.tally.to_json(), "examples": examples}

    @classmethod
    def from_json(cls, data: object) -> Compared:
        """Parse the result of `to_json`; raises `ValueError` if a field is invalid."""
        fields = Fields(data)
        tally = Tally(*(fields.integer(name) for name in vars(Tally())))
        return cls(tally, tuple(map(Example.from_json, fields.items("examples"))))


@dataclass(frozen=True)
class Position:
    """The progress of one query of the app.

    Attributes:
        log_name: The unique name of the query's epoch.
        batch: The last batch of the app whose results were compared.
        old: The last batch of the replica `old`, by query.
        new: The last batch of the replica `new`, by query.
    """

    log_name: str
    batch: int
    old: Mapping[str, int]
    new: Mapping[str, int]

    @classmethod
    def from_json(cls, data: object) -> Position:
        """Parse `vars` of a position; raises `ValueError` if a field is invalid."""
        fields = Fields(data)
        sides = (fields.mapping(side) for side in ("old", "new"))
        old, new = ({query: int(number) for query, number in each.items()} for each in sides)
        return cls(fields.text("log_name"), fields.integer("batch", least=-1), old, new)


@dataclass(frozen=True)
class Report:
    """The results of a shadow so far.

    Attributes:
        batches: The number of compared batches of the app.
        positions: The progress of each query of the app, by name.
        sinks: The comparison of each sink, by label.
        stores: The last comparison of each store, by name; empty before the first one.
        unlike: The names of stores that only one topology has, or that differ in their definition.
        skipped: The number of batches that were compared together with a later batch, because
            their commits were no longer retained.
    """

    batches: int = 0
    positions: Mapping[str, Position] = field(default_factory=dict)
    sinks: Mapping[str, Compared] = field(default_factory=dict)
    stores: Mapping[str, Compared] = field(default_factory=dict)
    unlike: Sequence[str] = ()
    skipped: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether no result and no row of a store differs."""
        parts = (*self.sinks.values(), *self.stores.values())
        return all(each.tally.is_equal for each in parts)

    def after(
        self, query: str, position: Position, sinks: Mapping[str, Compared], skipped: int
    ) -> Report:
        """Return the report after another batch.

        Args:
            query: The query of the app.
            position: The new progress of the query.
            sinks: The comparison of the batch's results.
            skipped: The number of earlier batches that were compared together with this batch.
        """
        names = dict.fromkeys((*self.sinks, *sinks))
        return replace(
            self,
            batches=self.batches + 1,
            positions={**self.positions, query: position},
            sinks={n: self.sinks.get(n, Compared()) + sinks.get(n, Compared()) for n in names},
            skipped=self.skipped + skipped,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "batches": self.batches,
            "skipped": self.skipped,
            "equal": self.is_equal,
            "sinks": {name: each.to_json() for name, each in self.sinks.items()},
            "stores": {name: each.to_json() for name, each in self.stores.items()},
            "unlike": list(self.unlike),
            "positions": {query: vars(each) for query, each in self.positions.items()},
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Report:
        """Parse the result of `to_json`; raises `ValueError` if a field is invalid."""
        parts = (fields.mapping(name) for name in ("sinks", "stores"))
        sinks, stores = ({n: Compared.from_json(x) for n, x in part.items()} for part in parts)
        return cls(
            fields.integer("batches"),
            {q: Position.from_json(each) for q, each in fields.mapping("positions").items()},
            sinks,
            stores,
            tuple(checked_text(name, "a store") for name in fields.items("unlike")),
            fields.integer("skipped"),
        )
