"""Tests of `kstreams.views`."""

from __future__ import annotations
