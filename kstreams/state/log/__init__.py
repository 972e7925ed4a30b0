"""The durable log: pointers, deltas, snapshots and commits as objects, and their upkeep."""

from __future__ import annotations
