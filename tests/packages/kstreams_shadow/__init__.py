"""Tests of `kstreams_shadow`."""

from __future__ import annotations
