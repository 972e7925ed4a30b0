"""Benchmarks of connectors to external systems, and of calls to external services."""

from __future__ import annotations
