"""Windowed keys: their serdes, and their type in columns."""

from __future__ import annotations
