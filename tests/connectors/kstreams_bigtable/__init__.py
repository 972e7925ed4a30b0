"""Tests of the sink to Bigtable, on Google's emulator."""

from __future__ import annotations
