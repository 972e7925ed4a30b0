"""Batches on logs in addition to topics."""

from __future__ import annotations
