"""Tests of the sinks to Redis, on a real server."""

from __future__ import annotations
