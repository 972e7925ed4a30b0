"""Topologies on DataFrames over Spark Connect, on a server of their own process."""

from __future__ import annotations
