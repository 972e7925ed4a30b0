"""Objects of records in loops: checksummed parts, removed when unreferenced."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kstreams.errors import StateCorruptError
from kstreams.raw_batch import HOPS, INPUT_SCHEMA
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import loops_prefix
from kstreams.state.log import loop_objects
from kstreams.state.log.batch_objects import sweep_batch_objects
from kstreams.state.log.commits import Commit
from kstreams.state.log.directory import Directory
from kstreams.state.log.durable import Attempt
from kstreams.state.log.loop_objects import (
    LoopPart,
    copy_loops,
    object_names,
    parts_from_json,
    parts_to_json,
    read_loops,
    rows_by_loop,
    write_loops,
)

PREFIX = loops_prefix("app", "epoch")


@pytest.fixture
def log(tmp_path: Path) -> ObjectStore:
    return Directory(str(tmp_path)).open()


def rows(*keys: str) -> pa.Table:
    columns = [
        pa.array(range(len(keys)), pa.int64()),
        pa.array([7] * len(keys), pa.int64()),
        pa.array([key.encode() for key in keys], pa.binary()),
        pa.array([b"v"] * len(keys), pa.binary()),
        pa.nulls(len(keys), INPUT_SCHEMA.field("headers").type),
    ]
    table = pa.Table.from_arrays(columns, schema=INPUT_SCHEMA)
    return table.append_column(HOPS, pa.array(np.ones(len(keys), np.int32)))


def written(log: ObjectStore, batch: int = 3, attempt: str = "aa") -> tuple[LoopPart, ...]:
    sent = [("one", 0, rows("a", "b")), ("one", 2, rows("c")), ("two", 0, rows("d"))]
    return write_loops(log, PREFIX, Attempt(attempt, batch), 5, sent)


def test_each_part_of_loop_object_is_read_separately(log: ObjectStore) -> None:
    parts = written(log)

    assert [(p.loop, p.task, p.upstream, p.rows) for p in parts] == [
        ("one", 0, 5, 2),
        ("one", 2, 5, 1),
        ("two", 0, 5, 1),
    ]
    assert object_names(parts) == [f"{PREFIX}{3:020d}-aa-0.loop"]
    assert read_loops(log, parts) == [rows("a", "b"), rows("c"), rows("d")]
    assert read_loops(log, parts[1:2]) == [rows("c")]
    assert rows_by_loop(parts) == {"one": 3, "two": 1}


def test_large_loop_output_is_written_to_several_objects(
    log: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_objects, "_OBJECT_BYTES", 100)

    parts = written(log)

    assert len(object_names(parts)) == 3
    assert read_loops(log, parts) == [rows("a", "b"), rows("c"), rows("d")]


def test_empty_loop_output_writes_no_object(log: ObjectStore) -> None:
    assert write_loops(log, PREFIX, Attempt("aa", 1), 0, []) == ()
    assert list(log.list("")) == []


def test_loop_parts_in_commit_documents_are_grouped_by_object() -> None:
    parts = tuple(
        LoopPart("one", task, 5, f"{PREFIX}x{task // 2}", 0, 9, 1, "0" * 16) for task in range(4)
    )
    commit = Commit(1, "run", 0, {}, loops=parts)

    assert len(parts_to_json(parts)) == 2
    assert parts_from_json(json.loads(json.dumps(parts_to_json(parts)))) == parts
    assert Commit.from_json(commit.to_json()) == commit
    assert list(commit.objects()) == [f"{PREFIX}x0", f"{PREFIX}x1"]
    assert "loops" not in Commit(1, "run", 0, {}).to_json()


@pytest.mark.parametrize("bad", ["../x", "a//b"])
def test_invalid_names_of_loop_objects_are_rejected(bad: str) -> None:
    with pytest.raises(ValueError, match="not an object name"):
        parts_from_json([[bad, 0, [["one", 0, 0, 9, 1, "0" * 16]]]])


def test_damaged_loop_object_is_rejected(log: ObjectStore, tmp_path: Path) -> None:
    parts = written(log)
    (file,) = tmp_path.rglob("*.loop")
    data = bytearray(file.read_bytes())
    data[parts[0].length // 2] ^= 1
    file.chmod(0o644)
    file.write_bytes(data)

    with pytest.raises(StateCorruptError, match="is damaged, or not the one that was committed"):
        read_loops(log, parts)
    assert read_loops(log, parts[1:]) == [rows("c"), rows("d")]
    file.unlink()
    with pytest.raises(
        StateCorruptError, match="is missing: it has unprocessed records of loop 'one'"
    ):
        read_loops(log, parts)


def test_loop_part_with_digest_of_another_part_is_rejected(log: ObjectStore) -> None:
    first, second, _ = written(log)

    with pytest.raises(StateCorruptError):
        read_loops(log, [replace(second, digest=first.digest)])


def test_sweep_keeps_referenced_loop_objects_and_those_of_running_batch(log: ObjectStore) -> None:
    past, last, now = (written(log, batch, f"a{batch}") for batch in (1, 2, 3))
    lost = written(log, 2, "bb")  # of an attempt that was not committed
    old = write_loops(
        log, loops_prefix("app", "before"), Attempt("cc", 9), 0, [("one", 0, rows("x"))]
    )
    other = write_loops(
        log, loops_prefix("other", "e"), Attempt("dd", 0), 0, [("one", 0, rows("x"))]
    )

    log.put_if_absent(f"{loops_prefix('app', 'epoch')}notes.txt", b"of somebody else")

    gone = sweep_batch_objects(
        log, loops_prefix("app"), loops_prefix("app", "epoch"), last=2, named=object_names(last)
    )

    assert set(gone) == set(object_names([*past, *lost, *old]))
    left = {name for name in log.list("") if not name.endswith("notes.txt")}
    assert left == set(object_names([*last, *now, *other])) < set(log.list(""))


def test_copy_of_loop_parts_verifies_them(log: ObjectStore, tmp_path: Path) -> None:
    parts = written(log)
    target = Directory(str(tmp_path / "target")).open()

    copied = copy_loops(log, target, loops_prefix("fork", "forked"), parts)

    assert {name.rpartition("/")[0] for name in object_names(copied)} == {"fork/loops/forked"}
    assert read_loops(target, copied) == read_loops(log, parts)
    with pytest.raises(StateCorruptError):
        copy_loops(log, target, "x/", [replace(parts[0], digest="0" * 16)])
