"""Results that wait for the end of an interval."""

from __future__ import annotations
