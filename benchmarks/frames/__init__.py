"""Compare a topology on DataFrames with `App` and with Spark: `python -m benchmarks frames`."""

from __future__ import annotations
