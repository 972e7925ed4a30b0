"""Tests of the sink to MongoDB, on a server with its protocol."""

from __future__ import annotations
