"""Random records of every kind that a producer may write to a topic."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from tests.support.hostile.failing_processor import BAD, DROPPED, FORWARDED, MARKER

__all__ = ("NOW", "Hostile", "drawn", "ordered", "stream_of")

_Header = tuple[str, bytes | None]

NOW = 1_700_000_000_000
"""The correct time, ms since the epoch."""

_YEAR = 365 * 86_400_000
_HUGE = 300_000

_TEXTS = ("", "7", MARKER, "'; DROP TABLE x; --", "../../etc", "\x00\x1b[2J\r\n", "ключ", "a" * 999)
_KEYS = (
    *(f"k{n}".encode() for n in range(4)),
    *(text.encode() for text in _TEXTS),
    b"z" * _HUGE,
)
_BAD_KEYS = (b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80")
_BAD_VALUES = (
    b"",
    b"not JSON",
    b"\xff\xfe{",
    b'{"do":7}',
    b'{"text":"no order"}',
    b'{"do":"forward","text":"\\ud800"}',
    b'{"do":"forward","text":"\xed\xa0\x80"}',
    b'{"do":"forward"',
    b'{"do":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    b"9" * _HUGE,
    b"null",
    b"NaN",
    MARKER.encode(),
    b"\x80\x04\x95.",
)
_TIMES = (NOW, NOW, NOW, NOW + 1, NOW + 60_000, NOW - 60_000, 0, 1)
_BAD_TIMES = (
    -1,
    -2,
    -(1 << 63),
    (1 << 63) - 1,
    (1 << 63) - 1_001,
    1 << 62,
    NOW + 300 * _YEAR,
    NOW + 10 * _YEAR,
)
_HEADERS: tuple[_Header, ...] = (
    ("", b""),
    ("a", None),
    ("kstreams-error-class", b"Forged"),
    ("\x01\n", b"\xff"),
    (MARKER, MARKER.encode()),
    ("ж" * 50, b"\x00" * 500),
)


@dataclass(frozen=True)
class Hostile:
    """An encoded record with its expected fate where its timestamp is accepted.

    Attributes:
        fate: `good`, `bad`, `dropped` (by the processor) or `null`.
        odd_time: Whether its timestamp may be a reason to refuse it.
    """

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[_Header, ...]
    fate: str
    odd_time: bool


def drawn(random: Random, *, odd_times: bool = True) -> Hostile:
    """Return a random record; half of the records are good."""
    fate = random.choice(["good"] * 5 + ["bad"] * 4 + ["dropped", "null"])
    key, value = random.choice(_KEYS), _order(random, FORWARDED)
    if fate == "bad":
        if random.random() < 0.15:
            key = random.choice(_BAD_KEYS)
        elif random.random() < 0.3:
            value = random.choice(_BAD_VALUES)
        else:
            value = _order(random, BAD)
    elif fate == "dropped":
        value = _order(random, DROPPED)
    headers = tuple(random.sample(_HEADERS, random.randrange(3)))
    odd = odd_times and fate != "dropped" and random.random() < 0.15
    time = random.choice(_BAD_TIMES if odd else _TIMES) + random.randrange(3) * (not odd)
    if fate == "null":
        no_key = random.random() < 0.5
        return Hostile(None if no_key else key, value if no_key else None, time, headers, fate, odd)
    return Hostile(key, value, time, headers, fate, odd)


def stream_of(seed: int, *, odd_times: bool = True) -> list[list[Hostile]]:
    """Return a stream, cut into batches, that depends only on the seed."""
    random = Random(seed)
    sizes = [random.randint(1, 20) for _ in range(random.randint(1, 4))]
    return [[drawn(random, odd_times=odd_times) for _ in range(size)] for size in sizes]


def ordered(order: str) -> Hostile:
    """Return a normal record with an order."""
    value = json.dumps({"do": order, "text": MARKER}).encode()
    return Hostile(b"k", value, NOW, (), "good" if order in FORWARDED else "bad", odd_time=False)


def _order(random: Random, orders: tuple[str, ...]) -> bytes:
    return json.dumps({"do": random.choice(orders), "text": random.choice(_TEXTS)}).encode()
