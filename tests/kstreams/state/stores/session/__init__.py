"""Tests of `kstreams.state.stores.session`."""

from __future__ import annotations
