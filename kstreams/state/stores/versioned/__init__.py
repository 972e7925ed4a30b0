"""Values as of a time."""

from __future__ import annotations
