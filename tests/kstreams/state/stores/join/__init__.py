"""Tests of `kstreams.state.stores.join`."""

from __future__ import annotations
