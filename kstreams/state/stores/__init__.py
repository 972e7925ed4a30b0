"""The typed stores, a folder for each kind: `store.py` is what users see."""

from __future__ import annotations
