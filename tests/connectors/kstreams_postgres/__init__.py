"""Tests of the sink to PostgreSQL, on a real server."""

from __future__ import annotations
