"""Tests of `kstreams.windows.kinds`."""

from __future__ import annotations
