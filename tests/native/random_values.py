"""Random bytes, names and numbers, including values that break loops."""

from __future__ import annotations

from random import Random

_HUGE = 300_000


def data(random: Random) -> bytes | None:
    """Return null, an empty value, few bytes, zeros among them, or very many."""
    kind = random.random()
    if kind < 0.2:
        return None
    if kind < 0.4:
        return b""
    if kind < 0.99:
        return random.randbytes(random.choice((1, 7, 8, random.randrange(300))))
    return random.randbytes(random.randrange(_HUGE))


def name(random: Random) -> bytes:
    """Return a header's name as librdkafka gives it: any bytes except zeros, or none."""
    return random.randbytes(random.choice((0, 0, 1, 5, random.randrange(40)))).replace(b"\0", b"")


def number(random: Random, bits: int) -> int:
    """Return a signed number, often the smallest or the greatest of its type."""
    most = (1 << bits) - 1
    return random.choice((0, -1, -most - 1, most, random.randrange(-most, most)))
