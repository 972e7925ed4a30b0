"""Records that wait for their time, in its order."""

from __future__ import annotations
