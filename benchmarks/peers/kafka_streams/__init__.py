"""Kafka Streams, in Java."""

from __future__ import annotations
