"""Count words from Kafka to Kafka; all data of the app is in a bucket.

The environment variables are KAFKA, the addresses of brokers, and CHECKPOINT, s3://bucket/prefix.
"""

from __future__ import annotations

import os

from kstreams import BYTES, INT64, TEXT, App, Kafka, Topic, Topology
from kstreams.stores import timestamped_store
from kstreams.streams import Streams
from kstreams_rocksdb import RocksDB

LINES = Topic("lines", key=BYTES, value=TEXT, null_keys="pass")
TOTALS = Topic("totals", key=TEXT, value=INT64)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


def build() -> Topology:
    streams = Streams("word-count")
    words = streams.stream(LINES).flat_map_values(str.split)
    words.group_by(lambda _, word: word).count(store=COUNTS).updates().to(TOTALS, result_ids=True)
    return streams.build()


def main() -> None:
    App(
        build(),
        Kafka(os.environ["KAFKA"]),
        state=RocksDB(),
        checkpoint=os.environ["CHECKPOINT"],
    ).run()


if __name__ == "__main__":
    main()
