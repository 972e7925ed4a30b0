"""List stores: one list of values per key."""

from __future__ import annotations
