"""Tests of `kstreams.batch.io.embedded`."""

from __future__ import annotations
