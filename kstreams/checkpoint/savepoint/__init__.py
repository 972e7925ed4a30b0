"""Savepoints, forks, and the objects that retained versions need."""

from __future__ import annotations
