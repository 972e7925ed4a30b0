"""Results that wait until the last one is old enough."""

from __future__ import annotations
