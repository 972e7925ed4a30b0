"""Faust, in its maintained fork."""

from __future__ import annotations
