"""goka, in Go: the running count."""

from __future__ import annotations
