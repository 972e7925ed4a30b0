"""Tests of the sink to OpenSearch, on a real node."""

from __future__ import annotations
