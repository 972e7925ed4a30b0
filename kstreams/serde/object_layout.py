"""Convert columns to encoded values of any width and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.serde.layout import Columns
from kstreams.serde.objects import object_column
from kstreams.serde.stamped import StampedSerde

__all__ = ("ObjectLayout",)


class ObjectLayout:
    """The byte layout of stamped values of any width: a column of times and a column of objects.

    Args:
        serde: Serde of the stamped values.
    """

    def __init__(self, serde: StampedSerde[Any]) -> None:
        self._serde = serde

    def encode(self, columns: Columns) -> pa.Array:
        """Return a `binary` array of the values.

        Raises:
            SerializationError: The serde cannot write a value.
        """
        times, objects = columns
        return self._serde.serialize_many(list(zip(objects.tolist(), times.tolist(), strict=True)))

    def decode(self, data: Sequence[bytes]) -> Columns:
        """Decode a `binary` array's values to times and objects.

        Raises:
            DeserializationError: The serde cannot read a value.
        """
        pairs: list[Any] = self._serde.deserialize_many(pa.array(data, pa.binary()))
        times = np.fromiter((time for _, time in pairs), np.int64, len(pairs))
        return times, object_column([value for value, _ in pairs])
