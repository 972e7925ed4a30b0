"""Tests of the JSON serde."""

from __future__ import annotations
