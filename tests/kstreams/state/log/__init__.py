"""Tests of `kstreams.state.log`."""

from __future__ import annotations
