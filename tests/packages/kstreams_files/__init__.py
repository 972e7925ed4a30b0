"""Logs of files."""

from __future__ import annotations
