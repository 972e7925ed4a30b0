"""Tests that kill processes at any moment, and check that no record is lost or repeated."""

from __future__ import annotations
