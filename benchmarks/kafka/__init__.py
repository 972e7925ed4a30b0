"""Cost of a record on its way from and to Kafka, with compiled loops and with the Python client."""

from __future__ import annotations
