"""Tests of logs that are made up."""

from __future__ import annotations
