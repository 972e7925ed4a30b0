"""Tests of `kstreams.state.versions`."""

from __future__ import annotations
