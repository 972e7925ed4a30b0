"""Servers and Spark settings for tests and benchmarks; no part of the library."""

from __future__ import annotations
