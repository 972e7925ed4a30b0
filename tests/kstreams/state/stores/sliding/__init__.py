"""Tests of `kstreams.state.stores.sliding`."""

from __future__ import annotations
