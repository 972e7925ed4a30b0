"""Tests of the sink of files and objects."""

from __future__ import annotations
