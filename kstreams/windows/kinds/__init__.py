"""The built-in kinds of windows, one in each file, with its engine."""

from __future__ import annotations
