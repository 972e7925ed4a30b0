"""Tests of the sink for tables of Delta Lake."""

from __future__ import annotations
