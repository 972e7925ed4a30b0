"""Tests of serdes with a schema registry."""

from __future__ import annotations
