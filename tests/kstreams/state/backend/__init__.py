"""Tests of `kstreams.state.backend`."""

from __future__ import annotations
