"""The peers, a folder each: `peer.py` says what they are, what else is there is what runs."""

from __future__ import annotations
