"""Columnar joins; their results equal those of the record-by-record joins."""

from __future__ import annotations
