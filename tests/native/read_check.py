"""Random messages through the loops that read, compared with a plain model."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

from kstreams_kafka.native.library import KernelColumns, KernelSizes
from tests.native.fake_librdkafka import CONSUME, Buffers, Fake, Message, Pair
from tests.native.random_values import data, name, number

_POINTER = ctypes.sizeof(ctypes.c_void_p)
Row = tuple[int, int, int, int, bytes | None, bytes | None, tuple[Pair, ...] | None]


def check_reading(fake: Fake, random: Random) -> None:
    """Read random messages and errors into tables of random sizes; raise AssertionError."""
    drawn = [_message(random, n) for n in range(random.choice((0, 1, 8, 9, random.randrange(80))))]
    for message in drawn:
        fake.put(message)
    most = random.choice((len(drawn) + 1, random.randrange(1, 40)))
    most_bytes = random.choice((1, 10, random.randrange(1, 3_000), 1 << 30))
    if random.random() < 0.05:
        fake.fail(CONSUME, 0, 1)
        assert _take(fake, most)[0] == -1
    left = drawn
    while left:
        came, left = left[:most], left[most:]
        count, got, errors = _take(fake, most)
        good = [each for each in came if not each.err]
        assert count == len(good)
        found = [ctypes.c_int64.from_address(each + _ERROR_AT).value for each in errors]
        assert found == [each.offset for each in came if each.err]
        for each in errors:
            fake.kernel.drop(fake.kernel.functions, ctypes.byref(ctypes.c_void_p(each)), 1)
        _check_tables(fake, random, got, [_row(each) for each in good], most_bytes)
    assert fake.live() == 0


def _message(random: Random, n: int) -> Message:
    headers: tuple[Pair | None, ...] | None = None
    if random.random() < 0.5:
        count = random.choice((0, 1, 2, 3, random.randrange(60)))
        headers = tuple(
            None if random.random() < 0.02 else (name(random), data(random)) for _ in range(count)
        )
    return Message(
        err=random.choice((-191, 3, 1)) if random.random() < 0.1 else 0,
        topic=random.randrange(1, 1 << 47),
        partition=number(random, 31),
        offset=n if random.random() < 0.5 else number(random, 63),
        timestamp=number(random, 63),
        key=data(random),
        value=data(random),
        headers=headers,
        unreadable=headers is not None and random.random() < 0.05,
    )


def _row(message: Message) -> Row:
    """Return the expected row of a message: headers up to an unreadable one, None for none."""
    pairs: list[Pair] = []
    for pair in message.headers or () if not message.unreadable else ():
        if pair is None:
            break
        pairs.append(pair)
    places = message.topic, message.partition, message.offset, message.timestamp
    return (*places, message.key, message.value, tuple(pairs) or None)


def _take(fake: Fake, most: int) -> tuple[int, Any, list[int]]:
    got, errors = (ctypes.c_void_p * most)(), (ctypes.c_void_p * most)()
    failed = ctypes.c_int64()
    count = fake.kernel.take(
        fake.kernel.functions, None, 0, most, got, errors, ctypes.byref(failed)
    )
    return count, got, [each or 0 for each in errors[: failed.value]]


def _check_tables(
    fake: Fake, random: Random, got: Any, rows: Sequence[Row], most_bytes: int
) -> None:
    done, kernel = 0, fake.kernel
    while done < len(rows):
        at = ctypes.addressof(got) + done * _POINTER
        if random.random() < 0.03:  # as after a failure
            kernel.drop(kernel.functions, at, len(rows) - done)
            return
        sizes = KernelSizes()
        kernel.measure(kernel.functions, at, len(rows) - done, most_bytes, ctypes.byref(sizes))
        table = rows[done : done + sizes.rows]
        told = tuple(getattr(sizes, field) for field, *_ in sizes._fields_)
        assert told == (len(table), *_sizes(table))
        end = done + sizes.rows
        assert len(table) == 1 or max(_columns_bytes(table)) <= most_bytes
        assert end == len(rows) or max(_columns_bytes(rows[done : end + 1])) > most_bytes
        with fake.buffers() as buffers:
            columns = _columns(sizes, buffers)
            kernel.fill(kernel.functions, at, sizes.rows, ctypes.byref(columns))
            assert _read(columns, sizes) == list(table)
        done = end


def _columns_bytes(rows: Sequence[Row]) -> tuple[int, int, int, int]:
    pairs = [pair for row in rows for pair in row[6] or ()]
    return (
        sum(len(row[4] or b"") for row in rows),
        sum(len(row[5] or b"") for row in rows),
        sum(len(each) for each, _ in pairs),
        sum(len(value or b"") for _, value in pairs),
    )


def _sizes(rows: Sequence[Row]) -> tuple[int, ...]:
    keys, values, names, header_values = _columns_bytes(rows)
    nulls = sum(row[4] is None for row in rows), sum(row[5] is None for row in rows)
    headed = sum(row[6] is not None for row in rows)
    return keys, values, *nulls, headed, sum(len(r[6] or ()) for r in rows), names, header_values


def _columns(sizes: KernelSizes, buffers: Buffers) -> KernelColumns:
    """Return buffers as the table consumer makes them."""
    rows, pairs, new = sizes.rows, sizes.headers, buffers.new

    def bits(count: int) -> int:
        return buffers.of(bytes((count + 7) // 8))

    columns = KernelColumns(
        *(new(8 * rows), new(8 * rows), new(8 * rows), new(4 * rows)),
        *(new(4 * rows + 4), new(sizes.key_bytes), bits(rows)),
        *(new(4 * rows + 4), new(sizes.value_bytes), bits(rows)),
    )
    if pairs:
        columns.header_at, columns.headed = new(4 * rows + 4), bits(rows)
        columns.name_at, columns.name = new(4 * pairs + 4), new(sizes.name_bytes)
        columns.header_value_at = new(4 * pairs + 4)
        columns.header_value = new(sizes.header_bytes)
        columns.header_value_valid = bits(pairs)
    return columns


def _read(columns: KernelColumns, sizes: KernelSizes) -> list[Row]:
    """Read Arrow's buffers by the rules of its format."""
    rows, c = sizes.rows, columns

    def int64s(at: int) -> list[int]:
        return list((ctypes.c_int64 * rows).from_address(at))

    keys = _binary(rows, c.key_at, c.key, c.key_valid)
    values = _binary(rows, c.value_at, c.value, c.value_valid)
    headers: list[tuple[Pair, ...] | None] = [None] * rows
    if sizes.headers:
        names = _binary(sizes.headers, c.name_at, c.name, None)
        data = _binary(sizes.headers, c.header_value_at, c.header_value, c.header_value_valid)
        pairs = [(name or b"", value) for name, value in zip(names, data, strict=True)]
        ends = (ctypes.c_int32 * (rows + 1)).from_address(c.header_at)
        valid = _valid(rows, c.headed)
        headers = [
            tuple(pairs[start:end]) if there else None
            for (start, end), there in zip(pairwise(ends), valid, strict=True)
        ]
    partitions = list((ctypes.c_int32 * rows).from_address(c.partition))
    places = int64s(c.topic), partitions, int64s(c.offset), int64s(c.timestamp)
    return list(zip(*places, keys, values, headers, strict=True))


def _binary(count: int, at: int, data: int, valid: int | None) -> list[bytes | None]:
    ends = (ctypes.c_int32 * (count + 1)).from_address(at)
    assert ends[0] == 0
    there = [True] * count if valid is None else _valid(count, valid)
    return [
        ctypes.string_at(data + start, end - start) if ok else None
        for (start, end), ok in zip(pairwise(ends), there, strict=True)
    ]


def _valid(count: int, at: int) -> list[bool]:
    bits = ctypes.string_at(at, (count + 7) // 8)
    return [bool(bits[i >> 3] >> (i & 7) & 1) for i in range(count)]


_ERROR_AT = 56
"""Position of the offset in a message, on a 64-bit machine."""
