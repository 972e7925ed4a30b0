"""The reads and writes of an attempt: rows as objects, over rows as bytes, over a backend."""

from __future__ import annotations
