"""Windowed aggregates on whole columns of a batch."""

from __future__ import annotations
