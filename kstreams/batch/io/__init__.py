"""Input and output of batches: embedded topics, Kafka topics, logs, and sinks."""

from __future__ import annotations
