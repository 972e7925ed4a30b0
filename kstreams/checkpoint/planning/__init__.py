"""Plans of batches, and the log that keeps them."""

from __future__ import annotations
