"""Batches on logs that are no topics, beside those that are."""

from __future__ import annotations
