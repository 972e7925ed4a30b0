"""Serdes by name, and how their values are typed in and shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from kstreams.cli.loading import load_object
from kstreams.cli.usage import WrongUsageError
from kstreams.errors import DeserializationError, SerdeError, SerializationError
from kstreams.plugins import load_plugin, plugin_names
from kstreams.quoting import repr_of, text_of
from kstreams.serde.base import Serde
from kstreams.serde.none import NONE
from kstreams.serde.numbers import BOOL, DOUBLE, INT32, INT64
from kstreams.serde.text import BYTES, TEXT

__all__ = ("FORMAT_NAMES", "Format", "find_format", "json_line", "known_format", "printable")


class _AnyJson(Serde[Any]):
    """Whatever JSON can say, as compact text in UTF-8; for looking and typing only."""

    __slots__ = ()
    name = "json"

    def serialize(self, value: object) -> bytes:
        """Write compact JSON."""
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        except (TypeError, ValueError) as exc:
            raise SerializationError(f"expected what JSON can say: {exc}") from exc

    def deserialize(self, data: bytes) -> object:
        """Read any JSON."""
        try:
            return json.loads(data)
        except ValueError as exc:
            raise DeserializationError(f"expected JSON, got {data[:40]!r}: {exc}") from exc


@dataclass(frozen=True)
class Format:
    """A serde, and the way from typed text to its values.

    Attributes:
        serde: Converts values to bytes and back.
        parse: Makes a value of text, or raises `ValueError`.
    """

    serde: Serde[Any]
    parse: Callable[[str], object]

    def read(self, data: bytes | None) -> tuple[object, bool]:
        """Return the value of bytes and True; or the bytes and False when they are no such."""
        if data is None:
            return None, True
        try:
            return self.serde.deserialize(data), True
        except (SerdeError, ValueError):
            return data, False


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"expected true or false, got {text!r}")
    return text == "true"


def _raw(text: str) -> bytes:
    """Return the bytes that a line was read from, UTF-8 or not."""
    return text.encode("utf-8", "surrogateescape")


def _nothing(_: str) -> None:
    return None


_FORMATS: dict[str, Format] = {
    "text": Format(TEXT, str),
    "json": Format(_AnyJson(), json.loads),
    "int64": Format(INT64, int),
    "int32": Format(INT32, int),
    "double": Format(DOUBLE, float),
    "bool": Format(BOOL, _flag),
    "bytes": Format(BYTES, _raw),
    "none": Format(NONE, _nothing),
}
_PARSERS: dict[object, Callable[[str], object]] = {
    str: str,
    int: int,
    float: float,
    bool: _flag,
    bytes: _raw,
}

FORMAT_NAMES = ", ".join(_FORMATS)
"""Names that need no import."""


def known_format(name: str) -> Format | None:
    """Return the built-in format whose serde has a name, as recorded with a store."""
    for known in _FORMATS.values():
        if known.serde.name == name:
            return known
    return None


def find_format(name: str) -> Format:
    """Return a format by its name, a plugin's included, or a custom one by `MODULE:SERDE`.

    Values of custom serdes are typed in as JSON, unless they are text, numbers, bools
    or bytes.

    Raises:
        WrongUsageError: There is none; the message has near names.
    """
    if name in _FORMATS:
        return _FORMATS[name]
    if ":" in name:
        return _of_object(load_object(name), name)
    plugins = plugin_names("kstreams.serdes")
    if name not in plugins:
        near = get_close_matches(name, [*_FORMATS, *plugins], n=1)
        raise WrongUsageError(
            f"there is no serde {name!r}"
            + (f"; did you mean {near[0]!r}?" if near else f": expected {FORMAT_NAMES}")
            + ("" if near else ", or MODULE:SERDE for one of your own")
        )
    found = load_plugin("kstreams.serdes", name)
    if isinstance(found, Serde) or not callable(found):
        return _of_object(found, name)
    try:
        return _of_object(found(), name)
    except TypeError as exc:
        raise WrongUsageError(
            f"serde {name!r} needs its type: make one in a module of yours, and "
            "name that as MODULE:SERDE"
        ) from exc


def _of_object(found: object, name: str) -> Format:
    if not isinstance(found, Serde):
        raise WrongUsageError(f"{name} is {type(found).__name__}, not a Serde")
    return Format(found, _PARSERS.get(found.type_token, json.loads))


def printable(value: object) -> str:
    """Return one line of text for a value; control characters are escaped."""
    if value is None:
        return "null"
    if isinstance(value, str):
        text = value
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False, default=repr_of)
    else:
        text = text_of(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def json_line(value: object) -> str:
    """Return a value as JSON on one line that a terminal only shows and any reader reads.

    What is no printable character, lone surrogates among them, is written as JSON's escapes.
    """
    text = json.dumps(value, ensure_ascii=False, default=repr_of)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
