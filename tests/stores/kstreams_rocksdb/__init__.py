"""Tests of the RocksDB backend."""

from __future__ import annotations
