"""Servers, Spark settings and tools for tests and benchmarks; not part of the library."""

from __future__ import annotations
