"""Tests of the Avro serde."""

from __future__ import annotations
