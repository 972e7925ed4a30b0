"""Bring dead letters back to the topics that their records came from.

`replaying.py` does it; `letter.py` reads what a dead letter says of its record.
"""

from __future__ import annotations
