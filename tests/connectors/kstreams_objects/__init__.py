"""Tests of the sink for files and objects."""

from __future__ import annotations
