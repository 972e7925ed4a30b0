"""Records that `suppress` holds back; its store is for reading alone."""

from __future__ import annotations
