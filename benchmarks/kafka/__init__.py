"""What a record costs on its way from and to Kafka, by compiled loops and by the Python client."""

from __future__ import annotations
