"""The position of a task in its batch, its durable metadata and its counts."""

from __future__ import annotations
