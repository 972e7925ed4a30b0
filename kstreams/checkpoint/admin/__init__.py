"""Reset an app, and restore stores from changelog topics."""

from __future__ import annotations
