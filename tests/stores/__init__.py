"""Tests of the store plugins."""

from __future__ import annotations
