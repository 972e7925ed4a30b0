"""Tests of `kstreams.state`."""

from __future__ import annotations
