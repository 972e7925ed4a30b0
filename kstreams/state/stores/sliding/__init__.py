"""Read-only stores of slices; a slice aggregates a key's records with one timestamp."""

from __future__ import annotations
