"""Keys and values of stores as cells of a table."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kstreams.quoting import one_line
from kstreams.serde.base import Serde
from kstreams.windowed import Windowed
from kstreams_admin.values import exact

__all__ = ("Cell", "bytes_cell", "cells_of", "key_parameters", "shown_key")

_LONGEST = 300
_LONGEST_WHOLE = 20_000


@dataclass(frozen=True)
class Cell:
    """One value in a table.

    Attributes:
        text: The text on one line; the beginning of a long text.
        kind: `text`, `number`, `time`, `bytes`, `json` or `null`.
        ms: The time, ms since the epoch, for times.
    """

    text: str
    kind: str
    ms: int = 0


def cells_of(row: Mapping[str, object], *, whole: bool = False) -> list[Cell]:
    """Return the cells of a row.

    Args:
        row: A row as `RowText.row` returns it: values by column name.
        whole: Whether to show more of long texts.
    """
    longest = _LONGEST_WHOLE if whole else _LONGEST
    return [_cell(name, value, longest) for name, value in row.items()]


def _cell(column: str, value: object, longest: int) -> Cell:
    if column.endswith("_ms") and isinstance(value, int):
        return Cell(str(value), "time", value)
    match value:
        case None:
            return Cell("null", "null")
        case bool():
            return Cell(str(value).lower(), "text")
        case int():
            return Cell(f"{value:,}", "number")
        case float():
            return Cell(repr(value), "number")
        case str():
            return Cell(one_line(value, longest), "text")
        case {"base64": str(text), **rest} if not rest:
            return _bytes_cell(b64decode(text), longest)
        case _:
            return Cell(one_line(json.dumps(value, ensure_ascii=False), longest), "json")


def _bytes_cell(data: bytes, longest: int) -> Cell:
    tail = " …" if len(data) > longest // 2 else ""
    return Cell(f"{data[: longest // 2].hex(' ')}{tail}", "bytes")


def bytes_cell(data: bytes | None) -> Cell:
    """Return the cell of bytes without a known serde; as text if they are UTF-8."""
    if data is None:
        return Cell("null", "null")
    begin = data[: 4 * _LONGEST + 4]  # whole characters, also where one is cut
    for cut in range(4 if len(begin) < len(data) else 1):
        try:
            return Cell(one_line(begin[: len(begin) - cut].decode(), _LONGEST), "text")
        except UnicodeDecodeError:
            continue
    return _bytes_cell(data, _LONGEST)


def key_parameters(serde: Serde[Any], parts: tuple[Any, ...]) -> dict[str, str]:
    """Return the URL query parameters that identify the key of a row.

    Args:
        serde: The serde of the store's keys.
        parts: The row, as `rows_of` yields it.
    """
    is_windowed = serde.type_token is Windowed
    key = Windowed(parts[0], parts[1], parts[2]) if is_windowed else parts[0]
    found = exact(key, serde)
    if serde.type_token is str and isinstance(found, str):
        return {"key": found}
    return {"key": json.dumps(found), "key_format": "json"}


def shown_key(key: object, serde: Serde[Any]) -> str:
    """Return the text of a key for titles and links."""
    return _cell("key", exact(key, serde), _LONGEST).text
