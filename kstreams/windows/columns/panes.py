"""Panes: combine the records of overlapping windows once, instead of once per window.

Times with the same windows form a pane. The combined state of a key's records in a pane is then
added to each of its windows, like one record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kstreams._types import Ints
from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.columns.grouping import grouped
from kstreams.columns.values import is_number
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.layout import Columns
from kstreams.windows.columns.assignment import Assigned, Assigner
from kstreams.windows.columns.batch import Batch

__all__ = ("Panes", "merge_in_any_order", "panes_of")


@dataclass(frozen=True)
class Panes:
    """The panes of a batch, one for each key and span of time, ordered by time, then by key.

    Attributes:
        codes: The key number of each pane.
        state: The combined states of the records.
        pairs: The pairs of a pane (by its index) and a window that contains the pane.
    """

    codes: Ints
    state: Columns
    pairs: Assigned

    def taken(self, places: Ints) -> Columns:
        """Return the states of the panes at the given indexes."""
        return tuple(column[places] for column in self.state)


def merge_in_any_order(form: StampedForm, state: Serde[Any]) -> bool:
    """Return whether states may be merged in any order of records with different times.

    This is not so for states with doubles: 0.0 and -0.0 are equal, and the order determines which
    one is kept.

    Args:
        form: The columnar form of the states.
        state: The serde of the states.
    """
    return form.exact and _is_whole(state)


def _is_whole(serde: Serde[Any]) -> bool:
    parts = serde.parts if isinstance(serde, CompositeSerde) else ()
    return is_number(serde, whole=True) or (bool(parts) and all(map(_is_whole, parts)))


def panes_of(batch: Batch, assigner: Assigner, form: StampedForm, closed: Ints) -> Panes | None:
    """Return a batch's panes; None if each record must be added to its windows separately.

    This is the case if windows do not overlap, or if a record is before the epoch or late for one
    of its windows.

    Args:
        batch: The records.
        assigner: Assigns times to windows.
        form: The columnar form of the states, for which `merge_in_any_order` is true.
        closed: For each record, a time (ms); windows that end at this time or before are closed.
    """
    times, span = batch.times, assigner.pane_ms
    if not span or not len(times) or times.min() < 0:
        return None
    numbers = times // span
    least = int(numbers.min())
    groups = grouped(numbers - least, batch.keys.codes, len(batch.keys))
    pairs = assigner.assign(numbers[groups.first] * span)
    earliest = pairs.ends[np.searchsorted(pairs.rows, np.arange(len(groups.runs.firsts)))]
    latest = np.maximum.reduceat(closed[groups.order], groups.runs.firsts)
    if (earliest <= latest).any():
        return None
    with batch.naming(np.arange(len(batch))):
        lifted = form.lift(batch.values(), times)
    state = form.reduce(tuple(column[groups.order] for column in lifted), groups.runs)
    return Panes(batch.keys.codes[groups.first], state, pairs)
