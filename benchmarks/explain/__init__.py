"""Time to explain a key's value."""

from __future__ import annotations
