"""Windowed aggregation by columns; the file names are those of `records/`."""

from __future__ import annotations
