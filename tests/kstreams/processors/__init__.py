"""Tests of `kstreams.processors`."""

from __future__ import annotations
