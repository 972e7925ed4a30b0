"""Faust, in its maintained form."""

from __future__ import annotations
