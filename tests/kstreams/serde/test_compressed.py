"""Compressed serdes: dictionaries, size limits, damaged data and unknown dictionaries."""

from __future__ import annotations

import gzip
import pickle
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kstreams import BYTES, INT64, TEXT, Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import compressed, train_dictionary
from kstreams.testing import SerdeContract, WrittenBytes
from kstreams_json import json_serde

Codec = Literal["zstd", "gzip"]
each_codec = pytest.mark.parametrize("codec", ["zstd", "gzip"])


@dataclass
class Order:
    id: int
    customer: str
    items: list[str]


ORDERS: Serde[Order] = json_serde(Order)


def orders(count: int) -> list[Order]:
    return [Order(n, f"customer-{n % 97}", ["tea", "milk"][: n % 3]) for n in range(count)]


@cache
def dictionary(size: int = 2048) -> bytes:
    return train_dictionary(ORDERS, orders(3000), size=size)


class TestGzip(SerdeContract[str]):
    recorded_name = "gzip(text)"

    def serde(self) -> Serde[str]:
        return compressed(TEXT, "gzip")

    def values(self) -> Sequence[str]:
        return ["tea", "", "grüße " * 100]

    def strategy(self) -> st.SearchStrategy[str]:
        return st.text()

    def wrong_objects(self) -> Sequence[object]:
        return [1, b"a", "\ud800"]

    def bad_bytes(self) -> Sequence[bytes]:
        good = gzip.compress(b"tea")
        return [b"", b"tea", good[:-1], good + b"x", gzip.compress(b"\xff"), zlib.compress(b"tea")]

    def written(self) -> Sequence[WrittenBytes[str]]:
        return [
            WrittenBytes(gzip.compress(b"tea", mtime=123), "tea"),
            WrittenBytes(gzip.compress(b"tea ") + gzip.compress(b"time"), "tea time"),
        ]


class TestZstd(TestGzip):
    recorded_name = "zstd(text)"

    def serde(self) -> Serde[str]:
        return compressed(TEXT)

    def bad_bytes(self) -> Sequence[bytes]:
        good = zstandard.compress(b"tea")
        cut = b"\x28\xb5\x2f\xfd\x00"  # does not state its length
        return [b"", b"tea", good[:-1], good + b"x", good + good, cut, zstandard.compress(b"\xff")]

    def written(self) -> Sequence[WrittenBytes[str]]:
        streamed = zstandard.ZstdCompressor().compressobj()
        return [
            WrittenBytes(streamed.compress(b"tea") + streamed.flush(), "tea"),  # without the length
            WrittenBytes(zstandard.ZstdCompressor(write_checksum=True).compress(b"tea"), "tea"),
        ]


class TestZstdWithADictionary(SerdeContract[Order]):
    def serde(self) -> Serde[Order]:
        return compressed(ORDERS, dictionary=dictionary())

    def values(self) -> Sequence[Order]:
        return [Order(0, "", []), *orders(3)]

    def bad_bytes(self) -> Sequence[bytes]:
        trained = zstandard.ZstdCompressionDict(dictionary())
        foreign = zstandard.ZstdCompressionDict(dictionary(1024))
        return [
            zstandard.ZstdCompressor(dict_data=trained).compress(b'{"id": "1"}'),
            zstandard.ZstdCompressor(dict_data=foreign).compress(b"tea " * 50),
        ]

    def written(self) -> Sequence[WrittenBytes[Order]]:
        (order,) = orders(1)
        return [WrittenBytes(compressed(ORDERS).serialize(order), order)]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"id": pa.int64(), "customer": pa.string()}


class TestNumbersInColumns(SerdeContract[int]):
    def serde(self) -> Serde[int]:
        return compressed(INT64, "gzip")

    def values(self) -> Sequence[int]:
        return [0, -1, 2**63 - 1]


def test_dictionary_compresses_small_values() -> None:
    plain = sum(len(ORDERS.serialize(order)) for order in orders(500))
    without = sum(len(compressed(ORDERS).serialize(order)) for order in orders(500))
    packed = compressed(ORDERS, dictionary=dictionary())
    small = sum(len(packed.serialize(order)) for order in orders(500))
    assert small < 0.6 * plain < plain < without


def test_name_of_compressed_serde_has_codec_dictionary_and_inner_serde() -> None:
    packed = compressed(ORDERS, dictionary=dictionary())
    digest = packed.name.removeprefix("zstd:").removesuffix("(json[Order])")
    assert len(digest) == 8
    assert packed.name != compressed(ORDERS, dictionary=dictionary(1024)).name
    assert packed.name == compressed(ORDERS, dictionary=dictionary(), level=9, max_bytes=99).name


def test_values_of_older_dictionaries_are_read_and_current_dictionary_is_written() -> None:
    old = compressed(ORDERS, dictionary=dictionary(1024))
    new = compressed(ORDERS, dictionary=dictionary(), older=[dictionary(1024)])
    some = orders(6)
    column = pa.array([old.serialize(some[0]), None, *(new.serialize(each) for each in some[1:])])
    assert new.deserialize_many(column) == [some[0], None, *some[1:]]
    with pytest.raises(DeserializationError, match="got a frame of dictionary") as caught:
        old.deserialize(new.serialize(some[0]))
    assert "older=" in caught.value.hint


def bombs() -> dict[str, tuple[Codec, Callable[[], bytes]]]:
    zeros = bytes(64 << 20)

    def streamed() -> bytes:
        engine = zstandard.ZstdCompressor().compressobj()
        return engine.compress(zeros) + engine.flush()

    return {
        "gzip": ("gzip", lambda: gzip.compress(zeros)),
        "gzip in members": ("gzip", lambda: gzip.compress(bytes(600_000)) * 2),
        "zstd": ("zstd", lambda: zstandard.compress(zeros)),
        "zstd without length": ("zstd", streamed),
        "zstd that lies": ("zstd", lambda: b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 7 + b"\x00\x01\0\0"),
    }


@pytest.mark.parametrize("bomb", bombs())
def test_decompression_bomb_is_rejected_before_memory_is_allocated(bomb: str) -> None:
    codec, make = bombs()[bomb]
    data, serde = make(), compressed(BYTES, codec, max_bytes=1 << 20)
    good = serde.serialize(b"good")
    tracemalloc.start()
    for read in (
        lambda: serde.deserialize(data),
        lambda: serde.deserialize_many(pa.array([good, data])),
        lambda: serde.field(pa.array([good, data]), "x", pa.int64()),
    ):
        with pytest.raises(
            DeserializationError, match="at most 1,048,576 bytes after decompression"
        ) as caught:
            read()
        assert "max_bytes" in caught.value.hint
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


@each_codec
def test_compressed_serde_refuses_to_write_values_above_its_read_limit(codec: Codec) -> None:
    serde = compressed(TEXT, codec, max_bytes=10)
    assert serde.deserialize(serde.serialize("x" * 10)) == "x" * 10
    for write in (lambda: serde.serialize("x" * 11), lambda: serde.serialize_many(["a", "x" * 11])):
        with pytest.raises(SerializationError, match="at most 10 bytes of text, got 11"):
            write()


@each_codec
@given(texts=st.lists(st.none() | st.text(max_size=50), max_size=6))
def test_compressed_bytes_can_be_decompressed_by_other_programs(
    codec: Codec, texts: list[str | None]
) -> None:
    column = compressed(TEXT, codec).serialize_many(texts)
    read = gzip.decompress if codec == "gzip" else zstandard.decompress
    assert [None if x is None else read(x).decode() for x in column.to_pylist()] == texts


def test_threads_can_share_compressed_serde() -> None:
    serde = compressed(ORDERS, dictionary=dictionary())
    column = serde.serialize_many(orders(2000))
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: serde.deserialize_many(column), range(16)):
            assert found == orders(2000)
        assert {c.nbytes for c in pool.map(lambda _: serde.serialize_many(orders(500)), range(16))}


def test_compressed_serde_raises_error_of_first_failing_value() -> None:
    serde = compressed(INT64)
    short, broken = compressed(BYTES).serialize(b"short"), b"broken"
    with pytest.raises(DeserializationError, match="expected 8 bytes of int64"):
        serde.deserialize_many(pa.array([short, broken]))
    with pytest.raises(DeserializationError, match="expected 8 bytes of int64"):
        serde.to_arrow(pa.array([short, broken]))


def test_compressed_serdes_with_different_settings_are_unequal() -> None:
    assert compressed(TEXT) != compressed(TEXT, level=9)
    assert compressed(TEXT) != compressed(TEXT, "gzip")
    packed: Serde[Any] = compressed(TEXT, "gzip", level=1, max_bytes=50)
    assert pickle.loads(pickle.dumps(packed)) == packed


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"codec": "lz4"}, "codec is 'lz4', expected 'zstd' or 'gzip'"),
        ({"codec": "gzip", "dictionary": b"x"}, "gzip has no dictionaries"),
        ({"dictionary": b"no dictionary"}, "expected a trained dictionary"),
        ({"max_bytes": 0}, "at least 1"),
    ],
)
def test_invalid_settings_of_compressed_serde_fail_at_the_call(
    arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        compressed(TEXT, **arguments)


def test_training_of_dictionary_with_too_few_samples_raises() -> None:
    with pytest.raises(ValueError, match="cannot train a dictionary of 4,096 bytes on 2 samples"):
        train_dictionary(ORDERS, orders(2))


def test_error_without_zstandard_names_extra_to_install() -> None:
    code = (
        "import sys; sys.modules['zstandard'] = None;"
        "from kstreams.serde import TEXT, compressed;"
        "compressed(TEXT, 'gzip'); compressed(TEXT)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "zstd needs zstandard: pip install 'kstreams-spark[zstd]'" in done.stderr
