"""Strict parsing of requests: unknown, repeated and invalid parameters are rejected."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Collection
from typing import Any
from urllib.parse import parse_qsl

from kstreams.names import is_path_below, shown_name, text_problem
from kstreams.quoting import repr_of
from kstreams.serde.base import Serde
from kstreams_admin.values import parser_of
from kstreams_serve.problems import Problem

__all__ = ("KEY_FORMATS", "Parameters", "base64_bytes", "check_name", "key_of")

KEY_FORMATS = ("text", "json", "base64")
"""The formats of a key in requests."""

_HALF_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_MOST_FIELDS = 20
_LONGEST_NAME = 1_000
_FREE_TEXTS = ("key", "start", "end", "prefix", "find")
"""Parameters that may have control characters: keys, parts of keys, and texts to look for."""


class Parameters(dict[str, str]):
    """The parameters of a query string or a cursor: texts by name."""

    @classmethod
    def of(cls, text: bytes, known: Collection[str]) -> Parameters:
        """Parse a query string; each name must be known and may occur once.

        Values are single lines of text: names, numbers, times. Keys may be any text.

        Args:
            text: The query string.
            known: The allowed names.

        Raises:
            Problem: A name is unknown or repeated, or a value is invalid.
        """
        try:
            query = text.decode("ascii")
            pairs = parse_qsl(
                query,
                keep_blank_values=True,
                strict_parsing=bool(query),
                errors="strict",
                max_num_fields=_MOST_FIELDS,
            )
        except ValueError as exc:
            raise Problem(400, f"the query string cannot be parsed: {exc}") from exc
        if _HALF_ESCAPE.search(query):
            raise Problem(400, "the query string has a % without two hexadecimal digits after it")
        given: dict[str, str] = {}
        for name, value in pairs:
            if name not in known:
                raise Problem(
                    400,
                    f"unknown parameter {repr_of(name, 40)}; known parameters: "
                    f"{', '.join(known) or 'none'}",
                )
            if name in given:
                raise Problem(400, f"parameter {name!r} is given more than once")
            problem = text_problem(value) if value and name not in _FREE_TEXTS else ""
            if problem:
                raise Problem(400, f"{name} cannot be {shown_name(value)}: {problem}")
            given[name] = value
        return cls(given)

    def required(self, name: str) -> str:
        """Return a required parameter; raises `Problem` without it."""
        if name not in self:
            raise Problem(400, f"parameter {name!r} is missing")
        return self[name]

    def whole(self, name: str, least: int, most: int) -> int | None:
        """Return a whole number from `least` to `most`; None without the parameter."""
        text = self.get(name)
        if text is None:
            return None
        number = int(text) if _WHOLE.fullmatch(text) else None
        if number is None or not least <= number <= most:
            raise Problem(
                400,
                f"{name} is {repr_of(text, 40)}; expected a whole number, {least} to {most}",
            )
        return number

    def flag(self, name: str) -> bool:
        """Return a parameter that is true or false; false without the parameter."""
        text = self.get(name, "false")
        if text not in ("true", "false"):
            raise Problem(400, f"{name} is {repr_of(text, 40)}; expected true or false")
        return text == "true"


def check_name(what: str, name: str) -> str:
    """Return a name from a request if it is valid.

    Args:
        what: The kind of object that has the name, for the error: `"the app"`.
        name: The name.

    Raises:
        Problem: 400, the name is invalid: it is empty or too long, has control characters, or is
            a path with segments such as `..`.
    """
    problem = text_problem(name)
    if not problem and len(name) > _LONGEST_NAME:
        problem = f"it has {len(name)} characters, but a name may have at most {_LONGEST_NAME}"
    if not problem and not is_path_below(name):
        problem = "it leads to another directory"
    if problem:
        raise Problem(400, f"{what} cannot be {shown_name(name)}: {problem}")
    return name


def key_of(serde: Serde[Any], given: object, form: object, limit: int) -> object:
    """Return the key that a text or a JSON value in a request means.

    Args:
        serde: The serde of the keys.
        given: The value in the request.
        form: `text`, as on the command line; `json`, as in responses; or `base64`, the bytes of the
            serde.
        limit: The maximum bytes.

    Raises:
        Problem: The value is not a key.
    """
    text = given if isinstance(given, str) else json.dumps(given)
    if len(text.encode("utf-8", "surrogatepass")) > limit:
        raise Problem(413, f"a key is larger than {limit} bytes")
    if form not in KEY_FORMATS:
        raise Problem(
            400, f"key_format is {repr_of(form, 40)}; expected one of {', '.join(KEY_FORMATS)}"
        )
    try:
        if form == "base64":
            found: object = serde.deserialize(base64_bytes(text))
        else:
            found = parser_of(serde)(_typed(text, serde) if form == "json" else text)
        serde.serialize(found)
    except Exception as exc:  # the serde's own code
        raise Problem(
            400,
            f"key {repr_of(text, 80)} cannot be read as {form} by serde {serde.name}",
            hint=f"key_format is the format of keys: {', '.join(KEY_FORMATS)}.",
        ) from exc
    return found


def _typed(text: str, serde: Serde[Any]) -> str:
    """Return the command-line text of a key that is given as JSON text."""
    value, token = json.loads(text), serde.type_token
    if token is bytes:
        return base64_bytes(value["base64"]).decode("utf-8", "surrogateescape")
    if isinstance(value, str) and token in (str, int, float):
        return value
    if token is str:
        raise ValueError("the JSON value is not a string")
    return text


def base64_bytes(text: str) -> bytes:
    """Decode base64 in the standard or URL-safe alphabet; `ValueError` if it is invalid."""
    data = text.rstrip("=").replace("-", "+").replace("_", "/")
    return b64decode(data + "=" * (-len(data) % 4), validate=True)
