"""The rows of a store as JSON objects."""

from __future__ import annotations

import json
from typing import Any

from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec
from kstreams_admin.values import exact

__all__ = ("RowText", "bytes_of", "json_text")

json_text = json.JSONEncoder(ensure_ascii=False).encode
"""Returns a value as JSON."""


def bytes_of(text: str) -> int:
    """Return the number of bytes of a text in UTF-8; a lone surrogate counts as 3 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class RowText:
    """Converts flat rows of a store to JSON objects.

    Args:
        spec: The store.
        key: Serde of the rows' keys.
        columns: Names of the columns; the first is that of the key.
    """

    def __init__(self, spec: StoreSpec[Any], key: Serde[Any], columns: tuple[str, ...]) -> None:
        self._columns = columns
        self._serdes = [key if n == 0 else spec.value for n, _ in enumerate(columns)]

    @classmethod
    def of_key(cls, spec: StoreSpec[Any], key: Serde[Any]) -> RowText:
        """Return a `RowText` for rows of `StoreKind.flat_of_key`, which lack the key.

        Call `row` with `key=False`.
        """
        return cls(spec, key, ("key", *spec.kind.columns_of_key))

    def row(self, parts: tuple[Any, ...], *, key: bool) -> dict[str, object]:
        """Return a row as a JSON object; if `key` is true, `parts` begins with the key."""
        skip = 0 if key else 1
        named = zip(self._columns[skip:], self._serdes[skip:], parts, strict=False)
        return {name: exact(part, serde) for name, serde, part in named}

    def text(self, parts: tuple[Any, ...]) -> str:
        """Return a row as JSON text; `parts` begins with the key."""
        return json_text(self.row(parts, key=True))

    def sized_text(self, parts: tuple[Any, ...]) -> tuple[str, int]:
        """Return a row as JSON text, and its size in bytes; `parts` begins with the key."""
        text = self.text(parts)
        return text, bytes_of(text)
