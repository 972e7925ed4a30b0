"""A value for each key, with or without a time to live."""

from __future__ import annotations
