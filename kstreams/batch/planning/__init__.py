"""Planning of batches: which records the next batch reads, and how large it is."""

from __future__ import annotations
