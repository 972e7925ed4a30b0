"""Tests of the MessagePack serde."""

from __future__ import annotations
