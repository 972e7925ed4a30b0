"""Tests of `kstreams.state.cache`."""

from __future__ import annotations
