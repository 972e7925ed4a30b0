"""Windowed aggregation by columns; file names match the files of `records/`."""

from __future__ import annotations
