"""Tests of `kstreams.checkpoint`."""

from __future__ import annotations
