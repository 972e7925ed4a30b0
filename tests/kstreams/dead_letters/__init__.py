"""Tests of `kstreams.dead_letters`."""

from __future__ import annotations
