"""Stores as records: what a changelog topic gets, and how a store is rebuilt from it.

Read `form.py` first. Knows bytes and stores, but neither topics nor tasks.
"""

from __future__ import annotations
