"""The typed topology builder."""

from __future__ import annotations
