"""An encoder with equal bytes for equal dictionaries, for keys of any type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import inspect

from kstreams_msgspec.shape import parts_of

__all__ = ("OrderedEncoder", "has_other_keys")


class OrderedEncoder:
    """Encodes dictionaries in the order of their keys, which may be numbers or bytes too.

    msgspec's own encoders sort only text keys. The keys of a dictionary must be comparable;
    otherwise, encoding raises a `TypeError`.

    Args:
        encoder: The class of the format's encoders.
        native: Types that the format supports, and which are not converted to text.
        enc_hook: Converts objects of types that msgspec does not support.
    """

    def __init__(
        self,
        encoder: Callable[..., Any],
        native: tuple[type, ...],
        enc_hook: Callable[[Any], Any] | None,
    ) -> None:
        self._for_text_keys = encoder(enc_hook=enc_hook, order="deterministic")
        self._for_sorted = encoder(enc_hook=enc_hook)
        self._native = native
        self._enc_hook = enc_hook

    def encode(self, value: object) -> bytes:
        """Return the bytes of an object."""
        try:
            data: bytes = self._for_text_keys.encode(value)
        except TypeError:
            plain = msgspec.to_builtins(
                value, builtin_types=self._native, enc_hook=self._enc_hook, order="deterministic"
            )
            data = self._for_sorted.encode(plain)
        return data


def has_other_keys(info: inspect.Type) -> bool:
    """Return whether values of a type may have dictionaries with keys other than text."""
    return any(
        isinstance(part, (inspect.AnyType, inspect.CustomType))
        or (isinstance(part, inspect.DictType) and not isinstance(part.key_type, inspect.StrType))
        for part in parts_of(info)
    )
