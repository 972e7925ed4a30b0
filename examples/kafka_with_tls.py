"""Run a topology on a Kafka cluster that requires TLS and a password.

    export KAFKA_BOOTSTRAP=broker-1:9093,broker-2:9093 KAFKA_CA=ca.pem
    export KAFKA_USER=app KAFKA_PASSWORD=...
    python examples/kafka_with_tls.py

Options have librdkafka's names. The topics `payments` and `large-payments` must exist.
"""

from __future__ import annotations

import os

from kstreams import INT64, TEXT, App, Kafka, Topic, TopologyBuilder, filter_

builder = TopologyBuilder("large-payments")
payments = builder.add_source("payments", Topic("payments", key=TEXT, value=INT64))
large = builder.add_processor("large", filter_(lambda _, cents: cents >= 10_000), payments)
builder.add_sink("out", Topic("large-payments", key=TEXT, value=INT64), large)
topology = builder.build()


def cluster() -> Kafka:
    return Kafka(
        os.environ["KAFKA_BOOTSTRAP"],
        {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": os.environ["KAFKA_CA"],
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": os.environ["KAFKA_USER"],
            "sasl.password": os.environ["KAFKA_PASSWORD"],
        },
    )


if __name__ == "__main__":
    with App(topology, cluster()) as app:
        app.run()
