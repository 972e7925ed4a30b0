"""Joins of two streams, and of a stream with a versioned table."""

from __future__ import annotations
