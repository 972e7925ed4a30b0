"""birdayz/kstreams, in Go: the reason for its missing figures."""

from __future__ import annotations
