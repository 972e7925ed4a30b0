"""Checkpoint storage in directories and object stores, with locks and telemetry files."""

from __future__ import annotations
