"""Tests of `kstreams.batch.embedded`."""

from __future__ import annotations
