"""Runnable benchmarks; each prints its units and the machine."""

from __future__ import annotations
