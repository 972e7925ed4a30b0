"""Parts of the reset of an app: its targets, and the reset of checkpoints in object storage."""

from __future__ import annotations
