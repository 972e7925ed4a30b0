"""Window stores: one value per key and window."""

from __future__ import annotations
