"""The processor of `TopologyBuilder.validate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

from kstreams._types import K, V
from kstreams.processors.processor import FixedKeyProcessor
from kstreams.processors.supplier import Supplier
from kstreams.quoting import kind_of, safe_text, text_of
from kstreams.record import Record

__all__ = ("Invalid", "Validate")


@dataclass(frozen=True)
class Invalid(Generic[V]):
    """A value that failed a check, and the reason."""

    value: V
    reason: str


class Validate(FixedKeyProcessor[K, V, Any]):
    """Forwards valid records to one child, and `Invalid` values to another child."""

    def __init__(self, name: str, check: Callable[[K, V], str | None]) -> None:
        self._valid = f"{name}.valid"
        self._invalid = f"{name}.invalid"
        self._check = check

    @classmethod
    def supplier(cls, name: str, check: Callable[[K, V], str | None]) -> Supplier[K, V, K, Any]:
        """Return a supplier of `Validate` processors.

        Args:
            name: The name of the node; the children are `<name>.valid` and `<name>.invalid`.
            check: Returns the reason why a key and a value are invalid; None if they are valid.
        """
        return partial(cls, name, check)

    def process(self, record: Record[K, V]) -> None:
        """Check the record, and forward it to the valid or the invalid output."""
        try:
            reason = self._check(record.key, record.value)
        except ValueError as exc:
            reason = f"{kind_of(exc)}: {safe_text(text_of(exc))}"
        if reason is None:
            self.context.forward_to(self._valid, record)
        else:
            self.context.forward_to(self._invalid, record.with_value(Invalid(record.value, reason)))
