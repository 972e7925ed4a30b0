"""Columns of windowed results, and their conversion to tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.processors.columns import STREAM_TIME
from kstreams.windows.keys.windowed_type import WindowedType

__all__ = ("Placed", "Results", "by_place", "joined", "order_by")


@dataclass(frozen=True)
class Results:
    """Results of windows, one per row.

    Attributes:
        keys: The keys, as an Arrow array of their serde's type.
        starts: The starts of the windows, ms.
        ends: The ends of the windows, ms.
        values: The results; null for a deleted session.
        times: The timestamps of the results, ms.
        unique: Whether each pair of key and window occurs only once.
    """

    keys: pa.Array
    starts: Ints
    ends: Ints
    values: pa.Array
    times: Ints
    unique: bool = True

    def deleted(self) -> Results:
        """Return these windows with null as their result, which deletes them."""
        return replace(self, values=pa.nulls(len(self), self.values.type))

    def __len__(self) -> int:
        """Return the number of results."""
        return len(self.starts)

    def take(self, rows: npt.NDArray[Any]) -> Results:
        """Return the results at the given rows, in the order of `rows`."""
        picked = pa.array(rows)
        return Results(
            self.keys.take(picked),
            self.starts[rows],
            self.ends[rows],
            self.values.take(picked),
            self.times[rows],
        )

    def table(
        self, *, headers: pa.Array | None = None, stream_times: Ints | None = None
    ) -> pa.Table:
        """Return the results as a table to forward.

        Args:
            headers: The headers of each result; None for no headers.
            stream_times: The stream time of each result, ms; None for no column of stream times.
        """
        kind = WindowedType(self.keys.type)
        columns = {
            "key": kind.of(self.keys, pa.array(self.starts), pa.array(self.ends)),
            "value": self.values,
            "timestamp": pa.array(self.times),
        }
        if headers is not None:
            columns["headers"] = headers
        if stream_times is not None:
            columns[STREAM_TIME] = pa.array(stream_times)
        return pa.table(columns)


Placed = tuple[Ints, Results]
"""Results, each with the position of its record or another number that sorts alike."""


def joined(parts: Sequence[Results]) -> Results:
    """Concatenate results."""
    if len(parts) == 1:
        return parts[0]
    return Results(
        pa.concat_arrays([part.keys for part in parts]),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.ends for part in parts]),
        pa.concat_arrays([part.values for part in parts]),
        np.concatenate([part.times for part in parts]),
    )


def by_place(parts: Sequence[Placed]) -> Placed:
    """Concatenate parts, each of sort positions and results, and sort them by position."""
    places = np.concatenate([place for place, _ in parts])
    order = np.argsort(places, kind="stable")
    return places[order], joined([results for _, results in parts]).take(order)


def order_by(*columns: Any) -> npt.NDArray[np.int64]:  # noqa: ANN401  # numpy or Arrow
    """Return the row numbers in sorted order; the first column is the primary sort key."""
    table = pa.table(
        [pa.array(column) for column in columns], [str(n) for n in range(len(columns))]
    )
    keys = [(name, "ascending") for name in table.column_names]
    order: npt.NDArray[np.int64] = pc.sort_indices(table, keys).to_numpy().astype(np.int64)
    return order
