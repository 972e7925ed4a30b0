"""What one task, and a stage on Spark, can do: `python -m benchmarks.engine`."""

from __future__ import annotations
