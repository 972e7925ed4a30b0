"""Records that are held back."""

from __future__ import annotations
