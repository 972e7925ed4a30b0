"""What an attempt reads and writes: rows as objects, over rows as bytes, over a backend."""

from __future__ import annotations
