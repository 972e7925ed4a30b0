"""Rows are divided among targets, each with its own in their order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kstreams.task.routing import parted


@given(st.lists(st.integers(0, 5) | st.integers(0, 100_000), max_size=60), st.booleans())
def test_each_target_gets_its_rows_in_order(targets: list[int], chunked: bool) -> None:
    rows = list(range(len(targets)))
    table = pa.table({"row": pa.array(rows, pa.int64())})
    if chunked and len(rows) > 1:
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    found = {
        target: part.column("row").to_pylist()
        for target, part in parted(table, np.array(targets, np.int32))
    }
    assert list(found) == sorted(set(targets))
    for target, own in found.items():
        assert own == [row for row in rows if targets[row] == target]
