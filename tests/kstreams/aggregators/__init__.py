"""Tests of kstreams.aggregators."""

from __future__ import annotations
