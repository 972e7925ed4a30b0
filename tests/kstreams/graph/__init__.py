"""Tests of `kstreams.graph`."""

from __future__ import annotations
