"""Records of a batch as queues, rows and columns, decoded on demand."""

from __future__ import annotations
