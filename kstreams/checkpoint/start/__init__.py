"""Open a checkpoint to run an app: settings, upgrades and migrations."""

from __future__ import annotations
