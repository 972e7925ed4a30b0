"""A topology on DataFrames beside `App` and Spark: `python -m benchmarks frames`."""

from __future__ import annotations
