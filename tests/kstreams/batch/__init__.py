"""Tests of `kstreams.batch`."""

from __future__ import annotations
