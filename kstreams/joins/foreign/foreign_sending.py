"""The settings and the output of the first stage of a foreign-key join."""

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
"""Maximum number of rows in a table that is sent."""


@dataclass(frozen=True)
class Subscribing:
    """The settings of the first stage of a foreign-key join.

    Args:
        by: Returns the foreign key of a left row from its key and value; None for no foreign key.
        joiner: Creates the results of rows without a foreign key.
        key: The serde of the left table's keys.
        value: The serde of the left table's values.
        foreign: The serde of the foreign keys in messages to the right table's tasks.
        stored: The serde of the foreign keys in the stores of the right table's tasks.
        result: The serde of the results.
        subscriptions: The name of the edge to the right table's tasks.
        alone: The name of the edge for results without a right row; None in an inner join.
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
    """Columns of encoded changes of left rows, one change per row.

    Attributes:
        own: The left keys, `binary`.
        was: The number of each old foreign key; negative for no foreign key.
        existed: Whether the left row existed before.
        now: The number of each new foreign key; negative for no foreign key.
        data: The left values, `binary`; for rows without a foreign key, their results.
        times: The times of the changes, ms.
    """

    own: pa.Array
    was: Ints
    existed: Bools
    now: Ints
    data: pa.Array
    times: Ints


class ForeignSending:
    """Sends the net changes that a batch makes to left rows.

    Args:
        terms: The settings of the stage.
        context: The context that sends messages.
    """

    def __init__(self, terms: Subscribing, context: EncodedContext) -> None:
        self._terms = terms
        self._context = context
        self._inner = terms.joiner.how == "inner"

    def send(self, steps: Steps, names: ForeignNames) -> None:
        """Send subscriptions, and results of left rows without a foreign key.

        Args:
            steps: One change for each row.
            names: The encoded foreign keys by number.
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
                self._send_without_foreign_key(
                    steps, rows[start : start + _AT_ONCE], self._terms.alone
                )

    def _subscribe(self, steps: Steps, names: ForeignNames, rows: Ints, stays: Bools) -> None:
        """Send the subscriptions of rows that refer to a foreign key, or no longer refer to one.

        Args:
            steps: The changes of the left rows.
            names: The encoded foreign keys by number.
            rows: For each subscription, the index of its change in `steps`.
            stays: The mask of subscriptions to the new foreign key of a row; the others
                remove the row from its old foreign key.
        """
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

    def _send_without_foreign_key(self, steps: Steps, rows: Ints, edge: str) -> None:
        """Send the results of rows without a foreign key; null deletes the earlier result."""
        taken = pa.array(rows)
        data = responses(np.ones(len(rows), bool), steps.data.take(taken))
        table = encoded_table(steps.own.take(taken), data, pa.array(steps.times[rows]))
        self._context.forward_encoded(edge, table)
