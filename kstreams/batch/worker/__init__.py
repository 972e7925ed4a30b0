"""The worker's part of a batch: its stages and tasks, their settings, and their state."""

from __future__ import annotations
