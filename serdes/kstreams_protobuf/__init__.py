"""Protobuf as a format of keys and values."""

from __future__ import annotations
