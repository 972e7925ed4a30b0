"""Tests of `kstreams.batch.io.kafka`."""

from __future__ import annotations
