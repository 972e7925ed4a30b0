"""birdayz/kstreams, in Go: only why it has no figures."""

from __future__ import annotations
