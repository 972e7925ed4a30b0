"""What windowed aggregation does: `python -m benchmarks.windows`."""

from __future__ import annotations
