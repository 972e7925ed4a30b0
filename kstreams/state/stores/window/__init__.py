"""A value for each key and window."""

from __future__ import annotations
