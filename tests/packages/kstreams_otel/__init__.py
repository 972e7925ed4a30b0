"""What an app tells those who watch it."""

from __future__ import annotations
