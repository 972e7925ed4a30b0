"""Records of the benchmarks are decoded in the format of their workload."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.suite.formats import decoder
from benchmarks.suite.registry import workload_by
from kstreams import INT64, TEXT
from kstreams.durations import seconds
from kstreams.windows import SessionWindows, TumblingWindows, Windowed, windowed

WINDOW = windowed(TEXT, TumblingWindows(seconds(10))).serialize(Windowed("a", 20_000, 30_000))
SESSION = windowed(TEXT, SessionWindows(seconds(30))).serialize(Windowed("a", 5, 9))
SEVEN = INT64.serialize(7)


@pytest.mark.parametrize(
    ("workload", "peer_format", "key", "value", "expected"),
    [
        ("W1", "windowed", WINDOW, SEVEN, ((b"a", 20_000, 0), 7)),
        ("W2", "windowed", b"a", SEVEN, ((b"a", 0, 0), 7)),
        ("W4", "windowed", SESSION, SEVEN, ((b"a", 5, 9), 7)),
        ("W4", "windowed", SESSION, None, ((b"a", 5, 9), None)),
        ("W1", "json", b"a", b'{"start":5,"end":15,"value":7}', ((b"a", 5, 0), 7)),
        ("W2", "json", b"a", b'{"value":7}', ((b"a", 0, 0), 7)),
        ("W4", "json", b"a", b'{"start":5,"end":9,"value":7}', ((b"a", 5, 9), 7)),
        ("W2", "decimal", b"a", b"7", ((b"a", 0, 0), 7)),
        ("Q5", "windowed", SEVEN, b"[12,345]", ((b"", 7, 0), (12, 345))),
        (
            "W6",
            "windowed",
            b"a",
            b'{"start":5,"end":0,"value":[1,null]}',
            ((b"a", 5, 0), (1, None)),
        ),
        ("Q20", "json", b"a", b'{"start":5,"value":["7","x"]}', ((b"a", 5, 0), ("7", "x"))),
        ("Q1", "windowed", b"9", b'{"dateTime":5,"price":1.5}', ((b"9", 5, 0), 1.5)),
    ],
)
def test_decoder_returns_result_of_record_in_each_peer_format(
    workload: str, peer_format: Any, key: bytes, value: bytes | None, expected: object
) -> None:
    assert decoder(peer_format, workload_by(workload))(key, value) == expected


def test_decoder_reads_eight_byte_values_as_integer_or_float_of_workload() -> None:
    text = replace(workload_by("W2"), values="json")
    assert decoder("windowed", text)(b"a", b"[12,345]") == ((b"a", 0, 0), (12, 345))
