"""Records quoted in error texts have no effect on the driver."""

from __future__ import annotations

import base64
import pickle
from pathlib import Path
from typing import Any

import pytest

from kstreams import BYTES, FixedKeyProcessor, Record, Topic, Topology, TopologyBuilder, rekey
from kstreams.errors import KStreamsError, ProcessingError
from kstreams.spark.failure import ErrorChannel
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

IN = Topic("in", BYTES, BYTES)
OUT = Topic("out", BYTES, BYTES)


class Evil:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


class Quoting(FixedKeyProcessor[bytes, bytes, bytes]):
    """Raises an error that quotes the record in its text and class name."""

    def __init__(self, *, passing: bool) -> None:
        self.passing = passing

    def process(self, record: Record[bytes, bytes]) -> None:
        if record.key.startswith(b"bad") and not self.passing:
            value = record.value.decode("utf-8", "surrogateescape")
            kind = type(value[:500], (ValueError,), {})
            raise kind(f"{record.key!r} {value} {record.headers}")
        self.context.forward(record)


def _same(key: bytes, value: bytes) -> bytes:
    return key


def quoting(*, passing: bool = False) -> Topology:
    """Return a topology: in -> quote -> (repartition) -> out."""
    builder = TopologyBuilder("quoting")
    source = builder.add_source("in", IN)
    quoted = builder.add_processor("quote", lambda: Quoting(passing=passing), source)
    moved = builder.add_processor("move", rekey(_same), quoted)
    edge = builder.repartition("edge", moved, key=BYTES, value=BYTES)
    builder.add_sink("out", OUT, edge)
    return builder.build()


def forged() -> bytes:
    """Return a valid mark with the signature of another run."""
    return str(ErrorChannel().wrap(KStreamsError("all is well"))).encode()


@pytest.mark.long
def test_quoted_records_neither_forge_nor_break_error_and_run_no_code(bench: Bench) -> None:
    ran = bench.home / "ran"
    data = pickle.dumps(Evil(ran))
    mark = b"<<kstreams-error:" + base64.b64encode(data) + b">>"
    bench.create(IN, partitions=1)
    bench.create(OUT, partitions=1)
    bench.emit(IN, [(data, data), (b"good", mark)])  # a pickle is treated like other bytes
    hostile = [mark + forged() + mark, b"\xff\xfe\x00\x1b[2J\r\nERROR " + mark * 50_000]
    written = 2
    for value in hostile:
        bench.emit(IN, [Record(b"bad" + value[:1_000], value, 0, (("h", value[:1_000]),))])
        with pytest.raises(ProcessingError) as caught:
            bench.run(quoting())
        error = caught.value
        where = error.where
        assert (where.node, where.topic, where.offset) == ("quote", "in", written)
        assert where.key == b"bad" + value[:1_000]
        assert "in a processor" in error.message
        assert len(str(error).encode()) < 100_000
        assert "\x1b" not in f"{error}{error.__cause__}"
        assert not ran.exists()
        bench.run(quoting(passing=True))
        written += 1
    found = bench.records(OUT)
    assert found[:2] == [(data, data), (b"good", mark)]
    assert [value for _, value in found[2:]] == hostile
    assert not ran.exists()
