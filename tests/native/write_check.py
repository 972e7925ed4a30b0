"""Random columns through the loop that produces, compared with a plain model."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from random import Random

from kstreams.raw_batch import ID_HEADER
from kstreams_kafka.native.library import KernelBinary, KernelOutgoing
from tests.native.fake_librdkafka import HEADER_ADD, HEADERS_NEW, PRODUCE, Buffers, Fake, Pair, Sent
from tests.native.random_values import data, name, number

_COPY = 2
_NO_MEMORY = -194
_ID = ID_HEADER.encode()


def check_writing(fake: Fake, random: Random) -> None:
    """Produce random rows with some failures, each row once; raise AssertionError."""
    count = random.choice((1, 8, 9, random.randrange(1, 60)))
    headers: list[list[Pair] | None] | None = None
    if random.random() < 0.6:
        headers = [_headers(random) for _ in range(count)]
    topics = [random.randrange(1, 1 << 47) for _ in range(random.randrange(1, 4))]
    which = [random.randrange(len(topics)) for _ in range(count)]
    if one_topic := random.random() < 0.2:
        which = [0] * count
    partitions = [number(random, 31) for _ in range(count)]
    times = [number(random, 63) for _ in range(count)]
    keys, values = ([data(random) for _ in range(count)] for _ in range(2))
    longest = fake.kernel.longest_prefix
    prefix = random.choice((None, b"a/b", b"\0", bytes(longest), random.randbytes(20)))
    first = random.choice((0, 9, random.randrange(1 << 40), (1 << 63) - 1 - count))
    model = [
        Sent(topics[which[n]], partitions[n], _COPY, times[n], keys[n], values[n], kept)
        for n in range(count)
        for kept in [_kept(headers[n] if headers else None, prefix, first + n)]
    ]
    with fake.buffers() as buffers:
        rows = KernelOutgoing(
            topics=buffers.numbers(ctypes.c_void_p, topics),
            topic=None if one_topic else buffers.numbers(ctypes.c_int32, which),
            partition=buffers.numbers(ctypes.c_int32, partitions),
            timestamp=buffers.numbers(ctypes.c_int64, times),
            key=_binary(random, buffers, keys),
            value=_binary(random, buffers, values),
            id_name=_ID,
            id_prefix=prefix,
            id_prefix_len=len(prefix or b""),
            id_first=first,
        )
        if headers is not None:
            _set_headers(random, buffers, rows, headers)
        _produce(fake, random, rows, model)
    fake.forget()
    assert fake.live() == 0


def _produce(fake: Fake, random: Random, rows: KernelOutgoing, model: Sequence[Sent]) -> None:
    """Continue after each failure at the row that it names: no row is lost or repeated."""
    row, end, code, stops = 0, len(model), ctypes.c_int32(), 0
    calls = {HEADERS_NEW: _NO_MEMORY, HEADER_ADD: -182, PRODUCE: -184}
    while row < end:
        armed = [call for call in calls if stops < 20 and random.random() < 0.2]
        for call in armed:
            fake.fail(call, random.randrange(2 * end), calls[call])
        before = row
        row = fake.kernel.produce(
            fake.kernel.functions, 1, ctypes.byref(rows), row, end, ctypes.byref(code)
        )
        assert before <= row <= end
        assert (row == end) == (code.value == 0)
        assert code.value in {0, *(calls[call] for call in calls)}
        assert fake.sent() == list(model[:row])
        assert fake.live() == sum(each.headers is not None for each in model[:row])
        stops += 1
        assert stops < 100, "it does not go on"


def _kept(pairs: list[Pair] | None, prefix: bytes | None, number: int) -> tuple[Pair, ...] | None:
    """Return a row's headers without ids of others, its own id last; None if it has none."""
    kept = tuple(pair for pair in pairs or () if pair[0] != _ID)
    if prefix is not None:
        return (*kept, (_ID, b"%b/%d" % (prefix, number)))
    return kept if pairs else None


def _headers(random: Random) -> list[Pair] | None:
    if random.random() < 0.3:
        return None
    count = random.choice((0, 1, 3, random.randrange(40)))
    near = (_ID, _ID, _ID[:-1], _ID + b"!", _ID[:-1] + b"?")
    return [
        (random.choice(near) if random.random() < 0.2 else name(random), data(random))
        for _ in range(count)
    ]


def _set_headers(
    random: Random,
    buffers: Buffers,
    rows: KernelOutgoing,
    headers: Sequence[list[Pair] | None],
) -> None:
    pairs = [pair for each in headers for pair in each or ()]
    ends, end = [0], 0
    for each in headers:
        end += len(each or ())
        ends.append(end)
    rows.header_at = buffers.numbers(ctypes.c_int32, ends)
    rows.name = _binary(random, buffers, [each for each, _ in pairs])
    rows.header_value = _binary(random, buffers, [value for _, value in pairs])


def _binary(random: Random, buffers: Buffers, values: Sequence[bytes | None]) -> KernelBinary:
    """Return a column that is a slice: other values precede it, which bits and offsets skip."""
    before = random.choice((0, 0, 1, 7, 8, random.randrange(20)))
    column = [*(random.randbytes(random.randrange(4)) for _ in range(before)), *values]
    ends, end = [0], 0
    for value in column:
        end += len(value or b"")
        ends.append(end)
    joined = b"".join(value or b"" for value in column)
    bits = bytearray((len(column) + 7) // 8)
    for n, value in enumerate(column):
        bits[n >> 3] |= (value is not None) << (n & 7)
    all_there = all(value is not None for value in values)
    return KernelBinary(
        buffers.numbers(ctypes.c_int32, ends) + 4 * before,
        buffers.of(joined) if joined else None,
        None if all_there and random.random() < 0.5 else buffers.of(bytes(bits)),
        before,
    )
