"""The version of a global table that a batch reads: a commit of the query that writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kstreams.state.log.commits import CommitName
from kstreams.state.log.fields import Fields
from kstreams.state.log.stored_names import STORED_NAMES

__all__ = ("Pin", "Pins")


@dataclass(frozen=True)
class Pin:
    """A version of a global table.

    Attributes:
        log_name: The `Checkpoint.log_name` of the query that writes the table, unique for each
            epoch.
        commit: The commit whose state is read; None before the first commit: the table is empty.
    """

    log_name: str
    commit: CommitName | None

    def __str__(self) -> str:
        return "empty" if self.commit is None else f"batch {self.commit.batch}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            STORED_NAMES["log_name"]: self.log_name,
            "commit": None if self.commit is None else self.commit.to_json(),
        }

    @classmethod
    def from_json(cls, data: object) -> Pin:
        """Parse the result of `to_json`; raises `ValueError` if the data is invalid."""
        fields = Fields(data)
        return cls(
            fields.text(STORED_NAMES["log_name"]), CommitName.from_json(fields.anything("commit"))
        )


Pins = Mapping[str, Pin]
"""The versions of global tables for a batch, by the names of their stores."""
