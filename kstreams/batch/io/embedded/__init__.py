"""Batches on embedded topics."""

from __future__ import annotations
