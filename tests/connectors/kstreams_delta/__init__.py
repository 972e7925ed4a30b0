"""Tests of the sink of tables of Delta Lake."""

from __future__ import annotations
