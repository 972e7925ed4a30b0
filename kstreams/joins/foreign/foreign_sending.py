"""What the first stage of a foreign-key join goes by, and what it sends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Bools, Ints
from kstreams.joins.encoded_output import EncodedContext, encoded_table
from kstreams.joins.foreign.foreign_keys import ForeignNames
from kstreams.joins.foreign.foreign_messages import (
    ENTER,
    LEAVE,
    LEAVE_RESULT,
    MOVE,
    responses,
    subscriptions,
)
from kstreams.joins.joiner import Joiner
from kstreams.serde.base import Serde

__all__ = ("ForeignSending", "Steps", "Subscribing")

_AT_ONCE = 8_192
"""Rows of a table that is sent."""


@dataclass(frozen=True)
class Subscribing:
    """What the first stage goes by.

    Args:
        by: Returns the foreign key of a left row; None for none.
        joiner: Makes the results of rows without a foreign key.
        key: Serde of the left table's keys.
        value: Serde of its values.
        foreign: Serde of the foreign keys on their way to the right table's tasks.
        stored: Serde of the foreign keys in the stores there.
        result: Serde of the results.
        subscriptions: Name of the edge to the right table's tasks.
        alone: Name of the edge for results that have no right row; None for an inner join.
    """

    by: Callable[[Any, Any], Any]
    joiner: Joiner[Any, Any, Any, Any]
    key: Serde[Any]
    value: Serde[Any]
    foreign: Serde[Any]
    stored: Serde[Any]
    result: Serde[Any]
    subscriptions: str
    alone: str | None


class Steps(NamedTuple):
    """Changes of left rows, encoded, a column each; each row changes once.

    Attributes:
        own: The rows' keys, `binary`.
        was: The numbers of the foreign keys before; negative for none.
        existed: Whether there was a row.
        now: The numbers of the foreign keys after it; negative for none.
        data: The left values, `binary`; or the results of rows that name no foreign key.
        times: Of the changes, in ms.
    """

    own: pa.Array
    was: Ints
    existed: Bools
    now: Ints
    data: pa.Array
    times: Ints


class ForeignSending:
    """Sends what a batch's changes of left rows come to.

    Args:
        terms: What the stage goes by.
        context: Takes what is sent.
    """

    def __init__(self, terms: Subscribing, context: EncodedContext) -> None:
        self._terms = terms
        self._context = context
        self._inner = terms.joiner.how == "inner"

    def send(self, steps: Steps, names: ForeignNames) -> None:
        """Send what left rows say: from what was before the batch to what is now.

        Args:
            steps: One change of each.
            names: The foreign keys by number.
        """
        was, now = steps.was, steps.now
        leaving, staying = np.flatnonzero((was >= 0) & (was != now)), np.flatnonzero(now >= 0)
        rows = np.concatenate((leaving, staying))
        order = np.argsort(rows, kind="stable")  # a row leaves one key before it comes to another
        stays = order >= len(leaving)
        for start in range(0, len(rows), _AT_ONCE):
            piece = slice(start, start + _AT_ONCE)
            self._subscribe(steps, names, rows[order[piece]], stays[piece])
        if self._terms.alone is not None:
            said = steps.existed | np.asarray(steps.data.is_valid())
            rows = np.flatnonzero((now < 0) & said)
            for start in range(0, len(rows), _AT_ONCE):
                self._say_alone(steps, rows[start : start + _AT_ONCE], self._terms.alone)

    def _subscribe(self, steps: Steps, names: ForeignNames, rows: Ints, stays: Bools) -> None:
        """Send the subscriptions of rows that come to a foreign key, or leave one."""
        was, now = steps.was[rows], steps.now[rows]
        comes = np.where((was >= 0) & (was != now), MOVE, ENTER)
        leaves = np.where(self._inner & (now < 0), LEAVE_RESULT, LEAVE)
        foreign, taken = pa.array(np.where(stays, now, was)), pa.array(rows)
        values = pc.fill_null(steps.data.take(taken), b"")
        if not stays.all():
            values = pc.if_else(pa.array(stays), values, b"")
        says, own = np.where(stays, comes, leaves), steps.own.take(taken)
        data = subscriptions(says, names.prefixes.take(foreign), own, values)
        table = encoded_table(names.keys.take(foreign), data, pa.array(steps.times[rows]))
        self._context.forward_encoded(self._terms.subscriptions, table)

    def _say_alone(self, steps: Steps, rows: Ints, edge: str) -> None:
        """Send the results of rows that name no foreign key; null ones go."""
        taken = pa.array(rows)
        data = responses(np.ones(len(rows), bool), steps.data.take(taken))
        table = encoded_table(steps.own.take(taken), data, pa.array(steps.times[rows]))
        self._context.forward_encoded(edge, table)
