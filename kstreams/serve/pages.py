"""Pages of rows: within limits, all at one version, and gone on with by a cursor."""

from __future__ import annotations

import asyncio
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from kstreams.serde.base import Serde
from kstreams.serde.values import exact
from kstreams.serve.parameters import base64_bytes
from kstreams.serve.problems import Problem
from kstreams.serve.settings import Limits
from kstreams.state.stores.spec import StoreSpec

__all__ = ("Cursors", "Page", "RowText", "take_page")

_MAC_BYTES = 16
_CHECK_EVERY = 64


class RowText:
    """Makes objects of JSON of a store's flat rows.

    Args:
        spec: The store.
        key: Serde of the rows' keys.
        columns: Names of the rows' parts.
    """

    def __init__(self, spec: StoreSpec[Any], key: Serde[Any], columns: tuple[str, ...]) -> None:
        self._columns = columns
        self._serdes = [key if n == 0 else spec.value for n, _ in enumerate(columns)]

    def row(self, parts: tuple[Any, ...], *, key: bool) -> dict[str, object]:
        """Return a row; `parts` are without the key where `key` is false."""
        skip = 0 if key else 1
        named = zip(self._columns[skip:], self._serdes[skip:], parts, strict=False)
        return {name: exact(part, serde) for name, serde, part in named}


@dataclass(frozen=True)
class Page:
    """Some rows.

    Attributes:
        rows: The rows, as JSON texts.
        taken: How many rows were gone through from the start of the iteration.
        ended: Whether there are no more.
    """

    rows: list[str]
    taken: int
    ended: bool


async def take_page(
    rows: Iterator[tuple[Any, ...]], text: RowText, skip: int, count: int, limits: Limits
) -> Page:
    """Take rows until there are enough, in number, bytes or time; let others go between.

    Args:
        rows: Where they come from.
        text: Makes text of them.
        skip: How many to pass over first.
        count: How many at most.
        limits: Bytes and times.
    """
    loop = asyncio.get_running_loop()
    begun = breath = loop.time()
    made: list[str] = []
    size = taken = 0
    for row in rows:  # what ends a page was taken from `rows`, but counts for the next
        now = loop.time() if taken % _CHECK_EVERY == 0 else breath
        if now - breath > limits.slice_seconds:
            await asyncio.sleep(0)
            breath = loop.time()
        full = len(made) == count or size >= limits.answer_bytes
        if full or now - begun > limits.read_seconds:
            return Page(made, taken, ended=False)
        if taken >= skip:
            made.append(json.dumps(text.row(row, key=True), ensure_ascii=False))
            size += len(made[-1])
        taken += 1
    return Page(made, taken, ended=True)


class Cursors:
    """Makes and reads cursors, which nobody else can make.

    Args:
        secret: Known to this server alone.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def make(self, content: dict[str, object]) -> str:
        """Return the text of a cursor."""
        data = json.dumps(content, separators=(",", ":")).encode()
        return urlsafe_b64encode(self._mac(data) + data).decode().rstrip("=")

    def read(self, text: str) -> dict[str, Any]:
        """Return what was put into a cursor.

        Raises:
            Problem: It is none of this server's.
        """
        try:
            data = base64_bytes(text)
            mac, data = data[:_MAC_BYTES], data[_MAC_BYTES:]
        except ValueError as exc:
            raise _foreign() from exc
        if not hmac.compare_digest(mac, self._mac(data)):
            raise _foreign()
        found: dict[str, Any] = json.loads(data)
        return found

    def _mac(self, data: bytes) -> bytes:
        return hmac.digest(self._secret, data, sha256)[:_MAC_BYTES]


def _foreign() -> Problem:
    return Problem(
        400,
        "the cursor is none of this server's",
        hint="a cursor is good until the server ends; begin with the first page again.",
    )
