"""Messages between driver and tasks survive packing, and damaged messages raise typed errors."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.batch.messages.envelope import DRIVER, Content, Envelope
from kstreams.batch.messages.oversized_batch import Refusal
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.checkpoint.planning.plans import Slice
from kstreams.errors import ExecutionError
from kstreams.ids import TaskId, TopicPartition
from kstreams.raw_batch import INPUT_SCHEMA
from kstreams.state.log.commits import Output
from kstreams.state.log.totals import NodeCounts, SourceRead
from kstreams.state.log.traffic import Traffic
from kstreams.task.records.queues import Queue

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
    min_size=1,
    max_size=20,
)

_NUMBERS = st.integers(0, 2**63 - 1)
_TASKS = st.integers(0, 9_999)
_PLACES = st.builds(TopicPartition, st.text(max_size=3), _TASKS)
_SIZES = st.dictionaries(
    _PLACES,
    st.tuples(_NUMBERS, _NUMBERS),
    max_size=3,
)
_SLICES = st.builds(Slice, st.text(), st.text(), _TASKS, st.just(3), st.integers(3, 9), st.text())
_CALLS = st.builds(
    TaskCall,
    st.lists(_SLICES, max_size=2).map(tuple),
    _NUMBERS,
    _NUMBERS,
    st.booleans(),
    st.none() | st.text(),
    st.booleans(),
)
_COUNTS = st.builds(
    NodeCounts,
    _NUMBERS,
    _NUMBERS,
    _NUMBERS,
    st.dictionaries(st.text(), _NUMBERS, max_size=2),
)
_STATUSES = st.builds(
    TaskStatus,
    st.builds(TaskId, st.text(), _TASKS),
    st.text(),
    records=_NUMBERS,
    source_records=_NUMBERS,
    sizes=_SIZES,
    counts=st.dictionaries(st.text(), _COUNTS, max_size=2),
    reads=st.lists(st.builds(SourceRead, st.text(), _PLACES, _NUMBERS, _NUMBERS), max_size=2).map(
        tuple
    ),
    lines=st.lists(st.text(), max_size=2).map(tuple),
    wall_due_ms=st.none() | _NUMBERS,
    outputs=st.lists(st.builds(Output, st.text(), _TASKS, st.text(), st.text()), max_size=2).map(
        tuple
    ),
    log=st.builds(Traffic, *[_NUMBERS] * 6),
)
_REFUSALS = st.builds(
    Refusal, st.lists(st.tuples(st.integers(0, 9), _TASKS), max_size=3).map(tuple), _SIZES
)

CALL = TaskCall((Slice("in", "t", 0, 1, 2),), 5)
STATUS = TaskStatus(TaskId("group", 1), "{}", sizes={TopicPartition("t", 0): (1, 2)})
REFUSAL = Refusal(((0, 1),), {TopicPartition("t", 0): (1, 2)})


def _queue(rows: list[tuple[object, ...]]) -> Queue:
    columns = list(zip(*rows, strict=True)) or [()] * len(INPUT_SCHEMA)
    arrays = [pa.array(list(c), t) for c, t in zip(columns, INPUT_SCHEMA.types, strict=True)]
    return Queue("edge", "edge", 3, pa.Table.from_arrays(arrays, schema=INPUT_SCHEMA))


@given(rows=_ROWS, stage=st.integers(0, 9), task=st.integers(0, 999))
def test_records_survive_packing_into_message(
    rows: list[tuple[object, ...]], stage: int, task: int
) -> None:
    queue = _queue(rows)
    (records,) = EdgeRecords.of(queue)
    got = Envelope.unpack(Envelope(stage, task, records).pack())
    assert (got.stage, got.task) == (stage, task)
    assert isinstance(got.content, EdgeRecords)
    back = got.content.queue()
    assert (back.entry, back.topic, back.partition) == ("edge", "edge", 3)
    assert back.table.equals(queue.table)


@given(content=_CALLS | _STATUSES | _REFUSALS, stage=st.integers(DRIVER, 9), task=_TASKS)
def test_task_calls_answers_and_refusals_survive_packing_into_message(
    content: Content, stage: int, task: int
) -> None:
    envelope = Envelope(stage, task, content)
    assert Envelope.unpack(envelope.pack()) == envelope


def test_large_record_queue_is_split_into_messages_without_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kstreams.batch.messages.edge_records._MAX_BYTES", 1_000)
    queue = _queue([(n, n, b"k%d" % n, b"v" * 40, None) for n in range(200)])
    parts = [part.queue() for part in EdgeRecords.of(queue)]
    assert len(parts) > 5
    assert all(part.table.nbytes < 2_000 for part in parts)
    assert pa.concat_tables([part.table for part in parts]).equals(queue.table)
    assert len(list(EdgeRecords.of(_queue([(0, 0, None, None, None)])))) == 1


def _fields(content: Content) -> list[tuple[Content, str]]:
    return [(content, name) for name in content.to_json()]


@pytest.mark.parametrize(
    ("content", "name"),
    [*_fields(CALL), *_fields(STATUS), *_fields(REFUSAL)],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
@pytest.mark.parametrize("damage", ["missing", "of another type"])
def test_damaged_message_field_raises_typed_error(content: Content, name: str, damage: str) -> None:
    payload = Envelope(0, 1, content).pack()
    kind, stage, task, fields = json.loads(payload[4:])
    if damage == "missing" and fields[name] is not None:
        del fields[name]
    else:
        fields[name] = [[]]
    text = json.dumps([kind, stage, task, fields]).encode()
    with pytest.raises(ExecutionError, match="cannot be read") as caught:
        Envelope.unpack(len(text).to_bytes(4, "big") + text)
    assert "the same version" in caught.value.hint


@pytest.mark.parametrize(
    "payload",
    [b"", b"\0\0", b"\0\0\0\2[]", b"\0\0\0\1{", b'\0\0\0\x0f["what",0,0,{}]', b"\xff" * 9],
    ids=["nothing", "cut", "empty", "no-json", "another-kind", "no-utf-8"],
)
def test_unpacking_bytes_that_are_not_a_message_raises_execution_error(payload: bytes) -> None:
    with pytest.raises(ExecutionError, match="a message between driver and workers cannot be read"):
        Envelope.unpack(payload)
