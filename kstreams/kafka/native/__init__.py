"""Kafka to Arrow and back by compiled loops, where `kstreams_kafka_native` is installed.

Read `library.py` first. librdkafka is the one that confluent-kafka has loaded. Handles are made
here, since those of the Python client call back into it. What is not per record is plain ctypes.
"""

from __future__ import annotations
