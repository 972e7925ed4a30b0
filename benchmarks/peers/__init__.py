"""The peers, one folder each: `peer.py` describes the peer, the other files are its programs."""

from __future__ import annotations
