"""Spark by itself: its own streaming queries."""

from __future__ import annotations
