"""Versioned stores: the values of keys as of a time."""

from __future__ import annotations
