"""Tests of `kstreams.explain`."""

from __future__ import annotations
