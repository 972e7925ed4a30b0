"""Tests of `kstreams_explain`."""

from __future__ import annotations
