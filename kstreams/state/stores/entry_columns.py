"""Columnar reads and writes of a store's values, by encoded key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kstreams.errors import SerdeError
from kstreams.serde.base import Serde
from kstreams.serde.layout import Columns, FixedLayout, fixed_layout
from kstreams.serde.object_layout import ObjectLayout
from kstreams.serde.objects import objects_of
from kstreams.state.cache.encoded_rows import EncodedRows
from kstreams.state.cache.store_overlay import StoreOverlay

__all__ = ("EntryColumns",)


class EntryColumns:
    """Reads and writes the values of many encoded keys (`handles`) of a store at a time.

    Args:
        overlay: The store's write-back cache, which is switched from objects to bytes.
        value: The serde of the values; its fixed layout determines the columns.
        layout: The layout of the columns; None: the serde's fixed layout.

    Raises:
        TypeError: The serde has no fixed layout, and no other layout is given.
    """

    def __init__(
        self, overlay: StoreOverlay, value: Serde[Any], layout: ObjectLayout | None = None
    ) -> None:
        self.layout: FixedLayout | ObjectLayout = layout or self._fixed(value)
        self.rows = EncodedRows(overlay)

    @staticmethod
    def _fixed(value: Serde[Any]) -> FixedLayout:
        layout = fixed_layout(value)
        if layout is None:
            raise TypeError(
                f"expected values of fixed width, but values of {value.name} vary in width"
            )
        return layout

    def read(self, handles: Sequence[bytes]) -> tuple[npt.NDArray[np.int64], Columns]:
        """Return the indexes of the handles that have a value, and these values as columns."""
        data = self.rows.get_many(handles)
        places = [place for place, item in enumerate(data) if item is not None]
        values = self.layout.decode([item for item in data if item is not None])
        return np.array(places, np.int64), values

    def write(self, handles: Sequence[bytes], values: Columns) -> None:
        """Set the values of encoded keys, one value per key.

        Raises:
            SerializationError: A number in a value is out of range.
        """
        try:
            data = self.layout.encode(values)
        except SerdeError as exc:
            raise exc.at(store=self.rows.name) from None
        self.rows.put_many(handles, objects_of(data))
