"""Values of sessions."""

from __future__ import annotations
