"""Tests of streams of RabbitMQ, on a real broker."""

from __future__ import annotations
