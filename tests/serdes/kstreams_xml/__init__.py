"""Tests of the XML serde."""

from __future__ import annotations
