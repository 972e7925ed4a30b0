"""What it takes to say why a key has its value."""

from __future__ import annotations
