"""Tests of `kstreams.batch.kafka`."""

from __future__ import annotations
