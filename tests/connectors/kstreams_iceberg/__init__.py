"""Tests of the sink of tables of Apache Iceberg."""

from __future__ import annotations
