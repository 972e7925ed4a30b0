"""Throughput of one task and of a stage on Spark: `python -m benchmarks.engine`."""

from __future__ import annotations
