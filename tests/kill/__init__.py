"""Processes are killed at any moment, and what is left is whole."""

from __future__ import annotations
