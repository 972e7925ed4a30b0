"""The store of a stream-stream join: the records of both sides, by time."""

from __future__ import annotations
