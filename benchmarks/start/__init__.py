"""How long a program takes to its first result, and how much processor time."""

from __future__ import annotations
