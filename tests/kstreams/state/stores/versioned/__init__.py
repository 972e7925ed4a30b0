"""Tests of `kstreams.state.stores.versioned`."""

from __future__ import annotations
