"""Tests of the sink to DynamoDB, on Amazon's own local server."""

from __future__ import annotations
