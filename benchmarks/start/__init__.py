"""Elapsed time and processor time of a program until its first result."""

from __future__ import annotations
