"""Tests of `kstreams.state.stores.key_value`."""

from __future__ import annotations
