"""Creates the topics, the schemas, the bucket and the table of `count_words.py`, if missing."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from urllib.parse import urlsplit

import boto3
import psycopg
from count_words import LINE, LINES, REGISTRY, TOPICS, TOTAL, TOTALS

PARTITIONS = 2
TABLE = "CREATE TABLE IF NOT EXISTS totals (word text PRIMARY KEY, count bigint)"


def main() -> None:
    with closing(TOPICS.admin()) as admin:
        for name in {LINES.name, TOTALS.name, "dead-lines"}.difference(admin.topics()):
            admin.create(name, PARTITIONS, config={"retention.ms": "-1"})
    for topic, serde in ((LINES, LINE), (TOTALS, TOTAL)):
        REGISTRY.register(f"{topic.name}-value", serde.schema)
    storage = boto3.client("s3")
    with suppress(storage.exceptions.BucketAlreadyOwnedByYou):
        storage.create_bucket(Bucket=urlsplit(os.environ["CHECKPOINT"]).netloc)
    with psycopg.connect(os.environ["POSTGRES"]) as database:
        database.execute(TABLE)


if __name__ == "__main__":
    main()
