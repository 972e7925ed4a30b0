"""Columns to encoded values of any width and back."""

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
    """How stamped values lie in bytes, whatever their width: a column of times, one of objects.

    Args:
        serde: Their serde.
    """

    def __init__(self, serde: StampedSerde[Any]) -> None:
        self._serde = serde

    def encode(self, columns: Columns) -> pa.Array:
        """Return a `binary` array of the values.

        Raises:
            SerializationError: A value is none of the serde's.
        """
        times, objects = columns
        return self._serde.serialize_many(list(zip(objects.tolist(), times.tolist(), strict=True)))

    def decode(self, data: Sequence[bytes]) -> Columns:
        """Read values back.

        Raises:
            DeserializationError: One is none of the serde's.
        """
        pairs: list[Any] = self._serde.deserialize_many(pa.array(data, pa.binary()))
        times = np.fromiter((time for _, time in pairs), np.int64, len(pairs))
        return times, object_column([value for value, _ in pairs])
