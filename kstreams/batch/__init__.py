"""A batch without Spark: what it reads, what tasks are told, what they read and write."""

from __future__ import annotations
