"""Emission of results by columns."""

from __future__ import annotations
