"""Tests of `kstreams.state.stores.buffer`."""

from __future__ import annotations
