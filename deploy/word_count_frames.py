"""Count words from one table into another with the DataFrame API; the state is in a bucket.

`word_count_frames.py LINES TOTALS STATE CHECKPOINT`: the table of lines, with a column `line`; the
table of counts, created if it does not exist; s3://bucket/prefix of the state; and the checkpoint
of the Spark query. A run processes the lines added since the last run, and ends.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from kstreams import BYTES, INT64, TEXT, Topic, Topology
from kstreams.frames import SourceFrame, transform_frames
from kstreams.stores import timestamped_store
from kstreams.streams import Streams
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3

LINES = Topic("lines", key=BYTES, value=TEXT, null_keys="pass")
TOTALS = Topic("totals", key=TEXT, value=INT64)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)
TASKS = 2


def build() -> Topology:
    streams = Streams("word-count")
    words = streams.stream(LINES).flat_map_values(str.split)
    words.group_by(lambda _, word: word).count(store=COUNTS).to(TOTALS)
    return streams.build()


def main() -> None:
    lines, totals, state, checkpoint = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", str(TASKS))
    frame = SourceFrame(spark.readStream.table(lines), value="line")
    results = transform_frames(build(), {LINES: frame}, state=RocksDB(log=S3(state)), tasks=TASKS)
    columns = ("cast(key AS string) AS word", "cast(conv(hex(value), 16, 10) AS bigint) AS total")
    query = (
        results[TOTALS]
        .selectExpr(*columns)
        .writeStream.option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .toTable(totals)
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
