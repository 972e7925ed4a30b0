"""Tests of `kstreams_forecast`."""

from __future__ import annotations
