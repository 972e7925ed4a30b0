"""Joins of a stream with a table, a global table or an external service."""

from __future__ import annotations
