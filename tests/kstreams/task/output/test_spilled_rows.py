"""Output rows spilled to a file are read unchanged, also after cuts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.raw_batch import OUTPUT_SCHEMA
from kstreams.task.output.spill import OutputRows


def rows(first: int, count: int) -> pa.Table:
    columns = {
        "topic": ["t"] * count,
        "key": [b"%d" % n for n in range(first, first + count)],
        "value": [None if n % 3 == 0 else bytes(n % 50) for n in range(first, first + count)],
        "timestamp": range(first, first + count),
        "headers": [[{"key": "h", "value": b"x"}] if n % 5 == 0 else None for n in range(count)],
    }
    return pa.table(columns, schema=OUTPUT_SCHEMA)


STEPS = st.lists(st.tuples(st.sampled_from(["add", "cut"]), st.integers(0, 40)), max_size=30)


@given(STEPS)
def test_drain_of_output_rows_returns_all_rows_that_were_not_cut(
    steps: list[tuple[str, int]],
) -> None:
    held, model, number = OutputRows(most=500), OUTPUT_SCHEMA.empty_table(), 0
    for step, count in steps:
        if step == "add":
            added = rows(number, count)
            number += count
            held.append(added)
            model = pa.concat_tables([model, added])
        else:
            held.cut(count)
            model = model.slice(0, count)
        assert held.count == model.num_rows
    found = held.drain()
    assert (found is None) == (not model.num_rows)
    if found is not None:
        assert found.to_pylist() == model.to_pylist()
    assert held.count == 0
    assert held.drain() is None


def test_output_rows_can_be_reused_after_drain() -> None:
    held = OutputRows(most=100)
    for _ in range(2):
        held.append(rows(0, 50))
        held.append(rows(50, 50))
        found = held.drain()
        assert found is not None
        assert found.column("timestamp").to_pylist() == list(range(100))


def test_few_output_rows_create_no_spill_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", pytest.fail)
    held = OutputRows(tmp_path, most=1_000_000)
    held.append(rows(0, 50))
    assert held.drain() is not None


def test_spill_file_is_unnamed_and_in_given_folder(tmp_path: Path) -> None:
    held = OutputRows(tmp_path, most=100)
    held.append(rows(0, 50))
    opened = [str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
    assert [name for name in opened if name.startswith(str(tmp_path))]
    assert list(tmp_path.iterdir()) == []
    assert held.drain() is not None


def test_memory_of_output_rows_stays_within_limit(tmp_path: Path) -> None:
    before = pa.total_allocated_bytes()
    held = OutputRows(tmp_path, most=100_000)
    for number in range(200):
        held.append(rows(number * 1_000, 1_000))
        assert pa.total_allocated_bytes() - before < 1_000_000
    found = held.drain()
    assert found is not None
    assert pa.total_allocated_bytes() - before < 1_000_000
    assert found.num_rows == 200_000
