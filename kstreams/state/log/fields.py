"""Typed access to the fields of a document with unknown content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar, overload

__all__ = (
    "MOST",
    "Fields",
    "WrongFieldError",
    "checked_digest",
    "checked_integer",
    "checked_text",
)

T = TypeVar("T")
"""The type of a default value."""

MOST = 2**63 - 1
"""The largest number of a document: offsets, times and sizes have 64 bits."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SHOWN = 40
_MISSING = object()
_MAPPINGS = (dict, Mapping)
"""A dict is a `Mapping`, but the check for a dict is faster."""


class WrongFieldError(ValueError):
    """A field is missing or has an invalid value."""


class Fields:
    """The fields of a JSON object.

    Each method returns a field of the method's type, or raises `WrongFieldError` if the field is
    missing or has another type. A default is returned for a missing field.
    """

    def __init__(self, content: object) -> None:
        if not isinstance(content, _MAPPINGS):
            raise WrongFieldError(f"expected a JSON object, got {_shown(content)}")
        self._content: Mapping[str, Any] = content

    def __contains__(self, name: str) -> bool:
        return name in self._content

    @overload
    def integer(self, name: str, *, least: int = ...) -> int: ...

    @overload
    def integer(self, name: str, *, least: int = ..., default: T) -> int | T: ...

    def integer(self, name: str, *, least: int = 0, default: object = _MISSING) -> Any:
        """Return the field `name`, a whole number from `least` to `MOST`."""
        if default is not _MISSING and name not in self._content:
            return default
        found = self._get(name)
        if type(found) is int and least <= found <= MOST:  # without the name for an error
            return found
        return checked_integer(found, f"field {name!r}", least=least)

    @overload
    def text(self, name: str) -> str: ...

    @overload
    def text(self, name: str, default: T) -> str | T: ...

    def text(self, name: str, default: object = _MISSING) -> Any:
        """Return the field `name`, a string."""
        if default is not _MISSING and name not in self._content:
            return default
        found = self._get(name)
        return found if type(found) is str else checked_text(found, f"field {name!r}")

    def flag(self, name: str) -> bool:
        """Return the field `name`, a boolean."""
        found = self._get(name)
        if not isinstance(found, bool):
            raise WrongFieldError(f"field {name!r} is {_shown(found)}, not true or false")
        return found

    def all(self) -> dict[str, Any]:
        """Return all fields, unchecked."""
        return dict(self._content)

    def anything(self, name: str) -> object:
        """Return the field `name` of any type, or None if the field is missing."""
        return self._content.get(name)

    def items(self, name: str) -> list[Any]:
        """Return the field `name`, a list with unchecked items."""
        found = self._get(name)
        if not isinstance(found, list):
            raise WrongFieldError(f"field {name!r} is {_shown(found)}, not a list")
        return found

    def mapping(self, name: str, default: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the field `name`, a JSON object with unchecked values, as a dict."""
        found = default if name not in self._content and default is not None else self._get(name)
        if not isinstance(found, _MAPPINGS):
            raise WrongFieldError(f"field {name!r} is {_shown(found)}, not a JSON object")
        return dict(found)

    def integers(self, name: str, default: Mapping[str, Any] | None = None) -> dict[str, int]:
        """Return the field `name`, a JSON object of whole numbers from 0 to `MOST`, as a dict."""
        found = self.mapping(name, default)
        for key, value in found.items():
            if type(value) is not int or not 0 <= value <= MOST:
                checked_integer(value, f"field {key!r} of {name!r}")
        return found

    def texts(self, name: str, default: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Return the field `name`, a JSON object of strings, as a dict."""
        found = self.mapping(name, default)
        for key, value in found.items():
            if type(value) is not str:
                checked_text(value, f"field {key!r} of {name!r}")
        return found

    def _get(self, name: str) -> object:
        if name not in self._content:
            raise WrongFieldError(f"field {name!r} is missing")
        return self._content[name]


def checked_integer(value: object, what: str, *, least: int = 0) -> int:
    """Return the value if it is an integer from `least` to `MOST`; else raise `WrongFieldError`.

    `what` names the value in the error message.
    """
    if type(value) is int and least <= value <= MOST:
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongFieldError(f"{what} is {_shown(value)}, not a whole number")
    if not least <= value <= MOST:
        raise WrongFieldError(f"{what} is {_shown(value)}, expected {least} to {MOST}")
    return value


def checked_text(value: object, what: str) -> str:
    """Return the value if it is a string; raise `WrongFieldError` for any other value.

    `what` names the value in the error message.
    """
    if not isinstance(value, str):
        raise WrongFieldError(f"{what} is {_shown(value)}, not a string")
    return value


def checked_digest(value: object, what: str) -> str:
    """Return the value if it is a SHA-256 in 64 hex digits; else raise `WrongFieldError`.

    `what` names the value in the error message.
    """
    text = checked_text(value, what)
    if not _DIGEST.fullmatch(text):
        raise WrongFieldError(f"{what} is {_shown(text)}, not a SHA-256 digest of 64 hex digits")
    return text


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
