"""What `kstreams serve` can do while an app commits, and what that costs the app."""

from __future__ import annotations
