"""The slices that sliding windows consist of."""

from __future__ import annotations
