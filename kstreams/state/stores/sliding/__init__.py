"""The read-only stores of slices, which sliding windows consist of."""

from __future__ import annotations
