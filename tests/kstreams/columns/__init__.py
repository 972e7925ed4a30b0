"""Tests of kstreams.columns."""

from __future__ import annotations
