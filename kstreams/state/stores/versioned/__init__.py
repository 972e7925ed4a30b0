"""Versioned stores: the value that a key had at a given time."""

from __future__ import annotations
