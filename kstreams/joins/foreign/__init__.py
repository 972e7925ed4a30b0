"""Foreign-key joins of tables."""

from __future__ import annotations
