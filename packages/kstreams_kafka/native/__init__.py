"""Kafka to Arrow and back by compiled loops, if `kstreams_kafka_native` is installed.

Read `library.py` first. The modules use the librdkafka that confluent-kafka has loaded. They create
their own handles, because handles of the Python client call back into it. Work that is not done for
each record is plain ctypes.
"""

from __future__ import annotations
