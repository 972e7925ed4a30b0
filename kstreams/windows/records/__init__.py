"""Windowed aggregates record by record."""

from __future__ import annotations
