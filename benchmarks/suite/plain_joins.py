"""Simple computations of joins with pandas, over all records of two datasets."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

__all__ = ("Joined", "as_of", "within")


def as_of(stream: pa.Table, table: pa.Table) -> pd.DataFrame:
    """Add to each stream record the columns of its key's table row as of its time; NaN if none.

    Args:
        stream: Records in time order; their columns are kept.
        table: Rows of the table in time order, with several versions of a key.
    """
    return pd.merge_asof(_frame(stream), _frame(table), on="timestamp", by="key")


@dataclass(frozen=True)
class Joined:
    """Result of a join of two streams, with the times `timestamp_left` and `timestamp_right`.

    Attributes:
        pairs: Columns of both sides.
        left: Records of the left side without a pair.
        right: Records of the right side without a pair.
    """

    pairs: pd.DataFrame
    left: pd.DataFrame
    right: pd.DataFrame


def within(left: pa.Table, right: pa.Table, *, before_ms: int, after_ms: int) -> Joined:
    """Pair records of a key: `left - before <= right <= left + after`."""
    one = _frame(left).rename(columns={"timestamp": "timestamp_left"})
    other = _frame(right).rename(columns={"timestamp": "timestamp_right"})
    one["number_left"], other["number_right"] = range(len(one)), range(len(other))
    met = one.merge(other, on="key")
    apart = met["timestamp_right"] - met["timestamp_left"]
    pairs = met[(apart >= -before_ms) & (apart <= after_ms)]
    return Joined(
        pairs,
        one[~one["number_left"].isin(pairs["number_left"])],
        other[~other["number_right"].isin(pairs["number_right"])],
    )


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.drop_columns(["value"]).to_pandas()
    return frame
