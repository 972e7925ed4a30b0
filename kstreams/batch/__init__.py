"""A batch without Spark: its plan, and the calls, input, output and results of its tasks."""

from __future__ import annotations
