"""Replay dead letters: write their records back to the original topics.

`replaying.py` writes the records; `letter.py` parses the headers of a dead letter.
"""

from __future__ import annotations
