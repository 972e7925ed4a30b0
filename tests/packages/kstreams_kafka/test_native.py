"""Compiled loops read and write the same records as the Python client."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devtools.servers.kafka import KafkaBroker
from kstreams.errors import KafkaOptionsError
from kstreams.partitioner import partition_by
from kstreams.raw_batch import HEADERS_TYPE, ID_HEADER, OUTPUT_SCHEMA
from kstreams_kafka.native import table_consumer
from kstreams_kafka.native.library import SWITCH, library
from kstreams_kafka.options import Kafka
from kstreams_kafka.range_reader import OffsetRange, RangeReader
from kstreams_kafka.sink import write_rows

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

FIRST = partition_by(lambda _key, _count: 0, name="first")

bytes_or_null = st.none() | st.binary(max_size=12) | st.just(bytes(range(256)) * 40)
names = st.just(ID_HEADER) | st.text(
    st.characters(exclude_characters="\0", codec="utf-8"), max_size=5
)
headers = st.none() | st.lists(st.tuples(names, bytes_or_null), min_size=1, max_size=3)
rows = st.lists(st.tuples(bytes_or_null, bytes_or_null, headers), min_size=1, max_size=30)


@pytest.fixture(autouse=True)
def compiled() -> None:
    if library(None) is None:
        pytest.skip("kstreams-kafka-native is not installed: make setup found no C compiler")


@pytest.fixture
def topics(broker: KafkaBroker, topic_name: str) -> Iterator[str]:
    def fresh() -> Iterator[str]:
        number = 0
        while True:
            broker.create_topic(f"{topic_name}-{number}")
            yield f"{topic_name}-{number}"
            number += 1

    return fresh()


def table_of(topic: str, drawn: list[tuple[bytes | None, bytes | None, object]]) -> pa.Table:
    count = len(drawn)
    columns = [
        pa.array([topic] * count),
        pa.array([key for key, _, _ in drawn], pa.binary()),
        pa.array([value for _, value, _ in drawn], pa.binary()),
        pa.array(np.arange(count) + 1_700_000_000_000),
        pa.array([each for _, _, each in drawn], HEADERS_TYPE),
    ]
    return pa.Table.from_arrays(columns, schema=OUTPUT_SCHEMA)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn=rows, start=st.integers(0, 5), writes=st.booleans(), ids=st.booleans())
def test_records_written_by_either_client_are_read_equally_by_both(
    broker: KafkaBroker,
    topics: Iterator[str],
    drawn: list[tuple[bytes | None, bytes | None, object]],
    start: int,
    writes: bool,
    ids: bool,
) -> None:
    topic = next(topics)
    table = table_of(topic, drawn).slice(min(start, len(drawn) - 1))
    prefix = "a/b" if ids else None
    write_rows(Kafka(broker.bootstrap, compiled=writes), table, partitioner=FIRST, id_prefix=prefix)
    found = []
    for reads in (True, False):
        reader = RangeReader(Kafka(broker.bootstrap, compiled=reads))
        (read,) = reader.read([OffsetRange(topic, 0, 0, table.num_rows)])
        reader.close()
        read.validate(full=True)
        found.append(read)
    assert found[0].equals(found[1])
    for name in ("key", "value", "timestamp"):
        assert found[0].column(name).to_pylist() == table.column(name).to_pylist()
    for number, (got, given_) in enumerate(
        zip(
            found[0].column("headers").to_pylist(), table.column("headers").to_pylist(), strict=True
        )
    ):
        own = [{"key": ID_HEADER, "value": b"a/b/%d" % number}] if ids else []
        kept = [each for each in given_ or [] if each["key"] != ID_HEADER]
        assert (got or []) == [*kept, *own]


def test_records_beyond_column_limit_are_read_in_several_tables(
    broker: KafkaBroker, topics: Iterator[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = next(topics)
    drawn: list[tuple[bytes | None, bytes | None, object]] = [
        (b"k%d" % n, b"v" * (n % 700), [("h", b"x" * (n % 300))] if n % 3 else None)
        for n in range(500)
    ]
    table = table_of(topic, drawn)
    write_rows(Kafka(broker.bootstrap), table, partitioner=FIRST, id_prefix="a")
    monkeypatch.setattr(table_consumer, "_MOST_BYTES", 2_000)
    reader = RangeReader(Kafka(broker.bootstrap, compiled=True))
    (read,) = reader.read([OffsetRange(topic, 0, 0, 500)])
    reader.close()
    assert read.column("value").to_pylist() == table.column("value").to_pylist()
    assert read.column("offset").to_pylist() == list(range(500))


def test_failed_read_returns_messages_to_client(
    broker: KafkaBroker, topics: Iterator[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = next(topics)
    table = table_of(topic, [(b"k", b"v", None)] * 50)
    write_rows(Kafka(broker.bootstrap), table, partitioner=FIRST, id_prefix="a")
    reader = RangeReader(Kafka(broker.bootstrap, compiled=True))

    def fails(_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(table_consumer, "_columns", fails)
        with pytest.raises(MemoryError):
            reader.read([OffsetRange(topic, 0, 0, 50)])
    (read,) = reader.read([OffsetRange(topic, 0, 0, 50)])  # the failed consumer was closed
    reader.close()
    assert read.num_rows == 50


def test_write_with_full_producer_queue_keeps_order(
    broker: KafkaBroker, topics: Iterator[str]
) -> None:
    topic = next(topics)
    table = table_of(topic, [(b"k", b"%d" % n, None) for n in range(20_000)])
    small = Kafka(broker.bootstrap, producer={"queue.buffering.max.messages": 1_000}, compiled=True)
    write_rows(small, table, partitioner=FIRST, id_prefix="a")
    reader = RangeReader(Kafka(broker.bootstrap, compiled=True))
    (read,) = reader.read([OffsetRange(topic, 0, 0, 20_000)])
    reader.close()
    assert read.column("value").to_pylist() == [b"%d" % n for n in range(20_000)]


def test_unknown_option_raises_options_error(broker: KafkaBroker) -> None:
    wrong = Kafka(broker.bootstrap, {"no.such.option": "1"}, compiled=True)
    with pytest.raises(KafkaOptionsError, match=r"no\.such\.option"):
        RangeReader(wrong).read([OffsetRange("t", 0, 0, 1)])


def test_environment_variable_selects_compiled_or_python_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(value: str) -> bool:
        monkeypatch.setenv(SWITCH, value)
        library.cache_clear()
        return library(None) is not None

    assert [found(value) for value in ("0", "1", "")] == [False, True, True]
    assert library(False) is None
    monkeypatch.setitem(sys.modules, "kstreams_kafka_native", None)  # not installed
    assert not found("")
    with pytest.raises(ImportError, match="kstreams-kafka-native"):
        found("1")
    library.cache_clear()


def test_ctypes_structs_match_structs_of_kernel(tmp_path: Path) -> None:
    """Sizes and offsets of all fields are those of a C compiler."""
    from kstreams_kafka.native import library as mirrored
    from kstreams_kafka.native.message import NativeMessage

    pairs = {
        "message": NativeMessage,
        "sizes": mirrored.KernelSizes,
        "columns": mirrored.KernelColumns,
        "binary": mirrored.KernelBinary,
        "outgoing": mirrored.KernelOutgoing,
    }
    kernel = Path(__file__).parents[3] / "native" / "kstreams_kafka_native" / "kernel.c"
    program = tmp_path / "sizes.c"
    lines = "".join(f'printf("{name} %zu\\n", sizeof({name}));' for name in pairs)
    program.write_text(
        f'#include "{kernel}"\n#include <stdio.h>\nint main(void) {{ {lines} return 0; }}\n'
    )
    made = tmp_path / "sizes"
    subprocess.run(["cc", "-o", str(made), str(program)], check=True)
    printed = subprocess.run([str(made)], check=True, capture_output=True, text=True).stdout
    assert dict(line.split() for line in printed.splitlines()) == {
        name: str(ctypes.sizeof(struct)) for name, struct in pairs.items()
    }
