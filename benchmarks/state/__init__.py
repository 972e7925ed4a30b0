"""What state costs: `python -m benchmarks.state`."""

from __future__ import annotations
