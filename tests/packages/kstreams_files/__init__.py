"""Tests of logs of files."""

from __future__ import annotations
