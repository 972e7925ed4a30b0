"""Cost of state: `python -m benchmarks.state`."""

from __future__ import annotations
