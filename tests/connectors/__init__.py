"""Tests of the connectors."""

from __future__ import annotations
