"""Tests of the packages that are built on the core."""

from __future__ import annotations
