"""Runs conformance cases: Kafka Streams' own answers to random inputs."""

from __future__ import annotations
