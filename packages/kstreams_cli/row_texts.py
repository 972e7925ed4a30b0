"""The rows of a store as text: values by their serdes, times as ISO 8601."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import NEVER_ENDS
from kstreams_admin.moments import iso
from kstreams_admin.values import shown_by

__all__ = ("RowTexts", "rows_of_key_text")

_TIME = "_ms"


class RowTexts:
    """Converts rows to text.

    Args:
        columns: The names of the columns. A name that ends in `_ms` marks milliseconds since the
            epoch.
        serdes: The serdes of the values, which may define their own text.

    Attributes:
        headings: The column headings: `start` for `start_ms`.
    """

    def __init__(self, columns: Sequence[str], *serdes: Serde[Any]) -> None:
        self.headings = tuple(name.removesuffix(_TIME) for name in columns)
        self._is_time = [name.endswith(_TIME) for name in columns]
        self._show = shown_by(*serdes)

    def of(self, row: Sequence[Any]) -> list[str]:
        """Return the text of each column of a row."""
        return [
            _time(part) if is_time and isinstance(part, int) else self._show(part)
            for part, is_time in zip(row, self._is_time, strict=True)
        ]


def rows_of_key_text(spec: StoreSpec[Any], rows: Sequence[Sequence[Any]]) -> str:
    """Return the rows of one key on one line, or `-` if there are none."""
    texts = RowTexts(spec.kind.columns_of_key, spec.value)
    return "; ".join(" ".join(texts.of(row)) for row in rows) or "-"


def _time(ms: int) -> str:
    return "never" if ms == NEVER_ENDS else iso(ms)
