"""Tests of what sinks of rows share."""

from __future__ import annotations
