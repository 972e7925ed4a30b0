"""Topologies on DataFrames over Spark Connect, on a server in a separate process."""

from __future__ import annotations
