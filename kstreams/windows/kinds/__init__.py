"""The kinds of windows, and windowed keys."""

from __future__ import annotations
