"""Emission of results record by record; one emitter for each kind of emission."""

from __future__ import annotations
