"""A value with a time for each key."""

from __future__ import annotations
