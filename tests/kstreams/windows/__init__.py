"""Tests of kstreams.windows."""

from __future__ import annotations
