"""Count words from Kafka to Kafka; all data of the app is in a bucket.

The environment variables are KAFKA, the addresses of brokers, and CHECKPOINT, s3://bucket/prefix.
"""

from __future__ import annotations

import os

from kstreams import BYTES, INT64, TEXT, App, Kafka, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.operators import aggregate, flat_map
from kstreams.stores import timestamped_store
from kstreams_rocksdb import RocksDB

LINES = Topic("lines", key=BYTES, value=TEXT, null_keys="pass")
TOTALS = Topic("totals", key=TEXT, value=INT64)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


def build() -> Topology:
    builder = TopologyBuilder("word-count")
    lines = builder.add_source("lines", LINES)
    words = builder.add_processor(
        "split", flat_map(lambda _, line: [(word, word) for word in line.split()]), lines
    )
    words = builder.repartition("by-word", words, key=TEXT, value=TEXT)
    totals = builder.add_processor("count", aggregate(count(), store=COUNTS), words)
    builder.add_sink("totals", TOTALS, totals, result_ids=True)
    return builder.build()


def main() -> None:
    App(
        build(),
        Kafka(os.environ["KAFKA"]),
        state=RocksDB(),
        checkpoint=os.environ["CHECKPOINT"],
    ).run()


if __name__ == "__main__":
    main()
