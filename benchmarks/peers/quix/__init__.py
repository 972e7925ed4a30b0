"""Quix Streams."""

from __future__ import annotations
