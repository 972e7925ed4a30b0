"""
Bring onto this machine what tests would download: the broker's jars and Spark's for Kafka.

A download takes as long as the network does, which no test's time limit should hold.
Done before, it costs 0.1 s::

    python -m tests.servers.fetch
"""

from __future__ import annotations

import sys

from kstreams.spark.kafka_jars import kafka_connector_jars
from tests.servers.kafka import broker_jars


def main() -> None:
    """Fetch, and say what is there."""
    count = len(kafka_connector_jars()) + len(broker_jars())
    sys.stdout.write(f"{count} jars of Kafka are on this machine\n")


if __name__ == "__main__":
    main()
