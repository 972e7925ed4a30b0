"""Tests of the package shared by sinks of rows."""

from __future__ import annotations
