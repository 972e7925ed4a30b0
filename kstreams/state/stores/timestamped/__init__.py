"""Timestamped stores: one value with a timestamp per key."""

from __future__ import annotations
