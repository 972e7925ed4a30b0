"""The checks of a topology in build()."""

from __future__ import annotations
