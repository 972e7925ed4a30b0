"""Spark without the library: its own streaming queries."""

from __future__ import annotations
