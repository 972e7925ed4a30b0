"""Counts words of lines in Protobuf, into a topic and into a table of PostgreSQL.

The environment variables are KAFKA, the addresses of brokers, REGISTRY, the URL of the schema
registry, POSTGRES, the URL of the database, and CHECKPOINT, s3://bucket/prefix. ENGINE=embedded
runs the app without Spark.
"""

from __future__ import annotations

import os

from words_pb2 import Line, Total

from kstreams import BYTES, INT64, TEXT, App, DeadLetter, Kafka, Topic, timestamped_store
from kstreams.streams import Streams
from kstreams_postgres import PostgresTable
from kstreams_protobuf import protobuf_serde
from kstreams_registry import SchemaRegistry, confluent
from kstreams_rocksdb import RocksDB

TOPICS = Kafka(os.environ.get("KAFKA", "127.0.0.1:9092"), delivery="exactly-once")
REGISTRY = SchemaRegistry(os.environ.get("REGISTRY", "http://127.0.0.1:8081/apis/ccompat/v7"))
LINE = protobuf_serde(Line)
TOTAL = protobuf_serde(Total)
LINES = Topic("lines", key=BYTES, value=confluent(LINE, REGISTRY), null_keys="pass")
TOTALS = Topic("totals", key=TEXT, value=confluent(TOTAL, REGISTRY))
TABLE: PostgresTable[str, Total] = PostgresTable(
    os.environ.get("POSTGRES", "postgresql://127.0.0.1/postgres"),
    "totals",
    key=("word",),
    row=lambda _, total: {"count": total.count},
)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


def words(line: Line) -> list[str]:
    return [word.strip(".,!?").lower() for word in line.text.split()]


def by_word(_: bytes | None, word: str) -> str:
    return word


def total(word: str, count: int) -> tuple[str, Total]:
    return word, Total(word=word, count=count)


streams = Streams("word-count", on_error=DeadLetter("dead-lines"), serdes=[TOTAL])
counted = streams.stream(LINES).flat_map_values(words, value=TEXT).group_by(by_word, key=TEXT)
totals = counted.count(store=COUNTS).updates().map(total, key=TEXT)
totals.to(TOTALS)
totals.to(TABLE)
topology = streams.build()


def main() -> None:
    App(
        topology,
        TOPICS,
        state=RocksDB(),
        checkpoint=os.environ["CHECKPOINT"],
        engine="embedded" if os.environ.get("ENGINE") == "embedded" else "spark",
    ).run()


if __name__ == "__main__":
    main()
