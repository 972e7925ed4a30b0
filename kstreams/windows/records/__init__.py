"""Windowed aggregation record by record; read `processor.py` first."""

from __future__ import annotations
