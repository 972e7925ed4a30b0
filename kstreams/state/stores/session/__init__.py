"""Session stores: one value per session and key."""

from __future__ import annotations
