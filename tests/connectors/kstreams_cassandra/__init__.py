"""Tests of the sink to Cassandra, on a real node."""

from __future__ import annotations
