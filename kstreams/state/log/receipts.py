"""The receipts in a commit: the names of results that tasks staged for sinks other than topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kstreams.sink import CommitId
from kstreams.state.log.fields import checked_integer, checked_text

__all__ = ("Receipts", "receipts_from_json", "receipts_to_json")

_FIELDS = 6


@dataclass(frozen=True)
class Receipts:
    """Identifies the results that a task has staged for a sink in one batch.

    Attributes:
        commit: The id of the sink's commit.
        names: The names that the sink's writer returned for its staged results.
    """

    commit: CommitId
    names: tuple[str, ...]


def receipts_to_json(found: Iterable[Receipts]) -> list[Any]:
    """Return plain data for JSON."""
    return [[*_fields(each.commit), list(each.names)] for each in found]


def receipts_from_json(data: Iterable[object]) -> tuple[Receipts, ...]:
    """Parse the result of `receipts_to_json`; raises `ValueError` if the data is invalid."""
    return tuple(map(_receipts, data))


def _fields(commit: CommitId) -> list[Any]:
    return [commit.epoch, commit.sink, commit.task, commit.batch, commit.revision]


def _receipts(data: object) -> Receipts:
    if not isinstance(data, list) or len(data) != _FIELDS or not isinstance(data[5], list):
        raise ValueError(
            f"expected {_FIELDS} fields of a sink's receipts: epoch, sink, task, batch, revision "
            f"and a list of receipts; got {data!r}"
        )
    commit = CommitId(
        checked_text(data[0], "the epoch of a commit"),
        checked_text(data[1], "the sink of a commit"),
        checked_integer(data[2], "the task of a commit"),
        checked_integer(data[3], "the batch of a commit"),
        checked_integer(data[4], "the revision of a commit"),
    )
    return Receipts(commit, tuple(checked_text(name, "a receipt") for name in data[5]))
