"""The slices that sliding windows are made of; their store is for reading alone."""

from __future__ import annotations
