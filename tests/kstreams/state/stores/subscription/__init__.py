"""Tests of `kstreams.state.stores.subscription`."""

from __future__ import annotations
