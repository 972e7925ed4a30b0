"""Tests of `kstreams.forecast`."""

from __future__ import annotations
