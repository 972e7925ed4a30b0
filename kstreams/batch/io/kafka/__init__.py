"""Batches on Kafka."""

from __future__ import annotations
