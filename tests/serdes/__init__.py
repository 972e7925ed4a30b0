"""Tests of the serde plugins."""

from __future__ import annotations
