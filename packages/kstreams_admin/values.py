"""Conversion of values to and from text that users type: plain text, numbers, bools or JSON."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from kstreams.errors import PluginError
from kstreams.plugins import load_plugin
from kstreams.quoting import repr_of, text_of
from kstreams.serde.base import Serde
from kstreams.windowed import NEVER_ENDS, Windowed
from kstreams_admin.moments import iso

__all__ = ("exact", "json_line", "parser_of", "plain", "printable", "shown_by")

_DEEPEST = 60
_LARGEST_BITS = 10_000
_EXACT = 2**53
_SCALARS = (str, int, float, bytes, type(None))
_BY_TEXT = (date, time, Decimal, UUID)


def parser_of(serde: Serde[Any]) -> Callable[[str], object]:
    """Return a function that parses text typed by a user; it raises `ValueError` if invalid."""
    token: Any = serde.type_token
    found = _PARSERS.get(token if isinstance(token, type) else object)
    if found is not None:
        return found
    make = getattr(serde, "from_json", None) or _from_json(token)

    def parse(text: str) -> object:
        content = json.loads(text)
        try:
            value: object = content if make is None else make(content)
        except Exception as exc:  # the serde's own code
            raise ValueError(f"not a value of serde {serde.name}: {text_of(exc)}") from exc
        return value

    return parse


def shown_by(*serdes: Serde[Any]) -> Callable[[object], str]:
    """Return a function that formats values as one line of text, with the `to_json` of the serdes.

    The text contains no control characters, whatever the values contain.
    """
    writers = {
        serde.type_token: writer
        for serde in reversed(serdes)
        if (writer := getattr(serde, "to_json", None)) is not None
    }

    def show(value: object) -> str:
        return printable(_written(writers.get(type(value), writers.get(object)), value))

    return show


def plain(value: object, serde: Serde[Any] | None = None) -> object:
    """Return a JSON value for a value, with its serde's `to_json` if it has one.

    Bytes and objects of unknown types become their `repr` text.
    """
    return _plain(_written(getattr(serde, "to_json", None), value), 0)


def exact(value: object, serde: Serde[Any] | None = None) -> object:
    """Return a JSON value for a value, without loss in any JSON reader.

    Integers beyond 2**53, which JavaScript would round, become text, and bytes become
    `{"base64": ...}`.
    """
    return _exact(_written(getattr(serde, "to_json", None), value), 0)


def printable(value: object) -> str:
    """Return one line of text for a value; control characters are escaped.

    Windowed keys are `key@start/end`, with times in UTC.
    """
    if value is None:
        text = "null"
    elif isinstance(value, Windowed):
        text = f"{printable(value.key)}@{_moment(value.start_ms)}/{_moment(value.end_ms)}"
    elif isinstance(value, str):
        text = str.__str__(value)
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, (dict, list)) or _fields(value) is not None:
        text = json.dumps(_plain(value, 0), ensure_ascii=False)
    else:
        text = text_of(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def json_line(value: object) -> str:
    """Return a value as JSON on one line, without control characters.

    Characters that cannot be printed, including lone surrogates, are written as JSON escapes.
    """
    text = json.dumps(_plain(value, 0), ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"expected true or false, got {text!r}")
    return text == "true"


def _raw(text: str) -> bytes:
    """Return the original bytes of a line from the command line, which may not be UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _tuple(text: str) -> tuple[object, ...]:
    content = json.loads(text)
    if not isinstance(content, list):
        raise ValueError(f"expected a JSON list, got {text!r:.100}")  # noqa: TRY004  # typed in
    return tuple(content)


_PARSERS: dict[type, Callable[[str], object]] = {
    str: str,
    int: int,
    float: float,
    bool: _flag,
    bytes: _raw,
    tuple: _tuple,
    type(None): lambda _: None,
}


def _from_json(token: Any) -> Callable[[object], object] | None:  # noqa: ANN401  # any type
    """Return a function that creates objects of a type from JSON data.

    None if msgspec is not installed or does not know the type.
    """
    if token is object:
        return None
    try:
        json_serde: Any = load_plugin("kstreams.serdes", "json")
        made: Callable[[object], object] = json_serde(token).from_json
    except (PluginError, ImportError, TypeError):
        return None
    return made


def _written(writer: Callable[[Any], object] | None, value: object) -> object:
    """Return a value as converted by a serde's writer; unchanged if the writer fails or is None."""
    if writer is None or isinstance(value, _SCALARS):
        return value
    try:
        return writer(value)
    except Exception:  # noqa: BLE001  # the serde's own code, of whatever was read
        return value


def _plain(value: Any, depth: int) -> object:  # noqa: ANN401  # of any type
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _plain(value.value, depth + 1)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return value if value.bit_length() < _LARGEST_BITS else f"({value.bit_length()} bits)"
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, _BY_TEXT):
        return text_of(value)
    if depth > _DEEPEST:
        return repr_of(value, _DEEPEST)
    if isinstance(value, Mapping):
        return {_key(key): _plain(each, depth + 1) for key, each in value.items()}
    found = _fields(value)
    if found is not None:
        return {name: _plain(each, depth + 1) for name, each in found.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, depth + 1) for each in value]
    if isinstance(value, (set, frozenset)):
        return [_plain(each, depth + 1) for each in sorted(value, key=repr_of)]
    return repr_of(value)


def _exact(value: Any, depth: int) -> object:  # noqa: ANN401  # of any type
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT:
        return text_of(value) if value.bit_length() < _LARGEST_BITS else _plain(value, depth)
    if depth <= _DEEPEST:
        if isinstance(value, Mapping):
            return {_key(key): _exact(each, depth + 1) for key, each in value.items()}
        found = None if isinstance(value, Enum) else _fields(value)
        if found is not None:
            return {name: _exact(each, depth + 1) for name, each in found.items()}
        if isinstance(value, (list, tuple)):
            return [_exact(each, depth + 1) for each in value]
    return _plain(value, depth)


def _fields(value: Any) -> dict[str, object] | None:  # noqa: ANN401  # of any type
    """Return the fields of an object by name; None if it has none."""
    if isinstance(value, type):
        return None
    if isinstance(value, Windowed):
        start, end = _moment(value.start_ms), _moment(value.end_ms)
        return {"key": value.key, "start": start, "end": end}
    names: Any = getattr(type(value), "__struct_fields__", getattr(type(value), "_fields", None))
    if is_dataclass(value):
        names = tuple(field.name for field in fields(value))
    if not isinstance(names, tuple):
        return None
    return {name: getattr(value, name, None) for name in names}


def _moment(ms: int) -> str:
    return "never" if ms == NEVER_ENDS else iso(ms)


def _key(key: object) -> str:
    return key if type(key) is str else text_of(_plain(key, _DEEPEST))
