"""A batch without Spark: what it reads, how its tasks are called, read, write and answer."""

from __future__ import annotations
