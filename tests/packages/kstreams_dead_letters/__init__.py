"""Tests of `kstreams_dead_letters`."""

from __future__ import annotations
