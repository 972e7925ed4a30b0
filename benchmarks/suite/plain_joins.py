"""Plain computations of joins, by pandas, on all records of two datasets at once."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

__all__ = ("Joined", "as_of", "within")


def as_of(stream: pa.Table, table: pa.Table) -> pd.DataFrame:
    """Give each record of a stream the columns that its key's row has at its time, NaN if none.

    Args:
        stream: Records by time; its columns stay.
        table: Rows of the table by time, several of a key among them.
    """
    return pd.merge_asof(_frame(stream), _frame(table), on="timestamp", by="key")


@dataclass(frozen=True)
class Joined:
    """What a join of two streams gives: `timestamp_left`, `timestamp_right` tell the sides' times.

    Attributes:
        pairs: Columns of both sides.
        left: Records of the left side that are in no pair.
        right: Records of the right side that are in no pair.
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
