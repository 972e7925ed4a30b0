"""Tests of `kstreams.state.stores`."""

from __future__ import annotations
