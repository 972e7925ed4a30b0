"""Tests of the sink to MongoDB, on what speaks its protocol."""

from __future__ import annotations
