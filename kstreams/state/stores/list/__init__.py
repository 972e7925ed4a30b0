"""A list for each key."""

from __future__ import annotations
