"""Serdes: how keys and values become bytes.

Read `Serde` first, then the constants `BYTES`, `TEXT`, `INT32`, `INT64`, `DOUBLE`,
`BOOL`, `NONE`. Depends on nothing else of the library but its errors.
"""

from __future__ import annotations

from kstreams.serde.base import Serde
from kstreams.serde.none import NONE
from kstreams.serde.numbers import BOOL, DOUBLE, INT32, INT64
from kstreams.serde.text import BYTES, TEXT

__all__ = ("BOOL", "BYTES", "DOUBLE", "INT32", "INT64", "NONE", "TEXT", "Serde")
