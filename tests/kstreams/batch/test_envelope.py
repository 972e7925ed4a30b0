"""Messages between stages survive packing, whatever is in them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.batch.envelope import DRIVER, Envelope
from kstreams.batch.task_run import _messages
from kstreams.raw_batch import INPUT_SCHEMA
from kstreams.task.queues import Queue

_HEADERS = st.none() | st.lists(
    st.fixed_dictionaries({"key": st.text(max_size=3), "value": st.none() | st.binary(max_size=3)}),
    max_size=2,
)
_ROWS = st.lists(
    st.tuples(
        st.integers(0, 2**63 - 1),
        st.integers(0, 2**63 - 1),
        st.none() | st.binary(max_size=9),
        st.none() | st.binary(max_size=9),
        _HEADERS,
    ),
    max_size=20,
)


def _queue(rows: list[tuple[object, ...]]) -> Queue:
    columns = list(zip(*rows, strict=True)) or [()] * len(INPUT_SCHEMA)
    arrays = [pa.array(list(c), t) for c, t in zip(columns, INPUT_SCHEMA.types, strict=True)]
    return Queue("edge", "edge", 3, pa.Table.from_arrays(arrays, schema=INPUT_SCHEMA))


@given(rows=_ROWS, stage=st.integers(0, 9), task=st.integers(0, 999))
def test_a_queue_survives(rows: list[tuple[object, ...]], stage: int, task: int) -> None:
    queue = _queue(rows)
    sent = Envelope.of_queue(queue, stage=stage, task=task, wall_ms=12)
    got = Envelope.unpack(sent.pack())
    assert (got.kind, got.stage, got.task, got.header["wall"]) == ("queue", stage, task, 12)
    back = got.queue()
    assert (back.entry, back.topic, back.partition) == ("edge", "edge", 3)
    assert back.table.equals(queue.table)


@given(
    header=st.dictionaries(
        st.text(max_size=5), st.none() | st.integers() | st.text() | st.lists(st.text(), max_size=2)
    )
)
def test_a_header_survives(header: dict[str, object]) -> None:
    assert Envelope.unpack(Envelope("status", DRIVER, 1, header).pack()).header == header


def test_a_message_forwarded_unread_keeps_its_body() -> None:
    once = Envelope.of_queue(_queue([(1, 2, b"k", b"v", None)]), stage=2, task=0, wall_ms=None)
    twice = Envelope.unpack(Envelope.unpack(once.pack()).pack())
    assert twice.queue().table.to_pylist() == once.queue().table.to_pylist()


def test_a_large_queue_is_cut_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kstreams.batch.task_run._MAX_MESSAGE_BYTES", 1_000)
    queue = _queue([(n, n, b"k%d" % n, b"v" * 40, None) for n in range(200)])
    parts = list(_messages(queue))
    assert len(parts) > 5
    assert all(part.table.nbytes < 2_000 for part in parts)
    assert pa.concat_tables([part.table for part in parts]).equals(queue.table)
    assert len(list(_messages(_queue([(0, 0, None, None, None)])))) == 1
