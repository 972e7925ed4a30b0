"""Key-value stores: one value per key, with or without a time to live."""

from __future__ import annotations
