"""This library, on Spark and Kafka."""

from __future__ import annotations
