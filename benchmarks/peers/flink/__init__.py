"""Flink SQL, through PyFlink."""

from __future__ import annotations
