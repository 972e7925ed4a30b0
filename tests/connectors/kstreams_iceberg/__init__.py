"""Tests of the sink for tables of Apache Iceberg."""

from __future__ import annotations
