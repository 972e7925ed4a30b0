"""Tests of `kstreams.state.stores.window`."""

from __future__ import annotations
