"""Tests of `kstreams.state.stores.list`."""

from __future__ import annotations
