"""Tests of `kstreams.serde`."""

from __future__ import annotations
