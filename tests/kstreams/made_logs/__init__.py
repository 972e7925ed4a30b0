"""Tests of logs generated from lists and rates."""

from __future__ import annotations
