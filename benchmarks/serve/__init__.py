"""What `kstreams serve` can do: point reads while an app commits, and as many as it can."""

from __future__ import annotations
