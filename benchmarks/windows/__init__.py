"""Throughput of windowed aggregation: `python -m benchmarks.windows`."""

from __future__ import annotations
