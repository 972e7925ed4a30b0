"""A case's values as numbers that columns can add up."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from kstreams import INT64
from kstreams.processors.columns import Execution
from tests.support.conformance.case import Case, Input

_MOST = 62


class NumberedValues:
    """Numbers for values: each record of a key has a distinct power of two.

    Args:
        case: The case.
        execution: The execution. Record by record and in joins, texts are not converted.
        drops_nulls: Whether null values are dropped, rather than shown.

    Raises:
        ValueError: A key has more records than int64 has bits.
    """

    def __init__(self, case: Case, execution: Execution, *, drops_nulls: bool) -> None:
        self._texts = execution != "columns" or case.is_join
        self._drops = drops_nulls
        self._values: dict[str | None, list[str]] = defaultdict(list)
        self._data: list[bytes | None] = [self._encoded(row) for row in case.inputs]
        if not self._texts and max(map(len, self._values.values()), default=0) > _MOST:
            raise ValueError(f"case {case.name}: a key has more than {_MOST} records")

    def encoded(self, place: int) -> bytes | None:
        """Return the encoded value of an input."""
        return self._data[place]

    def text(self, key: str, value: Any) -> str | None:
        """Return the letters that the number in a result represents."""
        if not isinstance(value, int):
            found: str | None = value
            return found
        return "".join(text for digit, text in enumerate(self._values[key]) if value >> digit & 1)

    def _encoded(self, row: Input) -> bytes | None:
        if row.value is None and (self._texts or self._drops):
            return None
        if self._texts:
            return (row.value or "").encode()
        own = self._values[row.key]
        own.append("null" if row.value is None else row.value)
        return INT64.serialize(1 << (len(own) - 1)) if len(own) <= _MOST else None
