"""A topology on a streaming DataFrame: files in, visits by minute out, one query with two sinks.

Each batch is computed once: `write_each` passes its results to one function per topic.

python examples/dataframes.py
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import mkdtemp

from pyspark.sql import DataFrame, SparkSession

from kstreams import INT64, TEXT, Topic, TopologyBuilder, filter_
from kstreams.aggregators import count
from kstreams.durations import minutes
from kstreams.emit import on_close
from kstreams.frames import SourceFrame, frame_settings, transform_frames, write_each
from kstreams.state import Directory, Memory
from kstreams.stores import window_store
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

MINUTE = TumblingWindows(minutes(1))
VISITS = Topic("visits", key=TEXT, value=TEXT)
BY_MINUTE = Topic("visits-by-minute", key=windowed(TEXT, MINUTE), value=INT64)
SIGN_UPS = Topic("sign-ups", key=TEXT, value=TEXT)

builder = TopologyBuilder("visits")
visits = builder.add_source("visits", VISITS)
COUNTS = window_store("counts", key=TEXT, value=INT64)
counting = windowed_aggregate(MINUTE, count(), store=COUNTS, emit=on_close())
builder.add_sink("by-minute", BY_MINUTE, builder.add_processor("count", counting, visits))
sign_ups = builder.add_processor("sign-up", filter_(lambda page, _: page == "/sign-up"), visits)
builder.add_sink("sign-ups", SIGN_UPS, sign_ups)


def show_minutes(rows: DataFrame, batch: int) -> None:
    """Print the closed minutes; a real program writes them to a table here."""
    for row in rows.collect():
        window, visited = BY_MINUTE.key.deserialize(row["key"]), INT64.deserialize(row["value"])
        print(f"batch {batch}: {window.key} {visited} visits")


def show_sign_ups(rows: DataFrame, batch: int) -> None:
    """Print the users who have signed up."""
    for row in rows.collect():
        print(f"batch {batch}: {TEXT.deserialize(row['value'])} signed up")


LINES = [("/home", "ann", 0), ("/home", "bob", 10), ("/sign-up", "bob", 30), ("/home", "eve", 130)]

if __name__ == "__main__":
    home = Path(mkdtemp())
    (home / "in").mkdir()
    lines = [json.dumps({"page": page, "who": who, "second": at}) for page, who, at in LINES]
    (home / "in" / "1.json").write_text("\n".join(lines))

    settings = frame_settings(tasks=2, local_checkpoint=True)
    spark = SparkSession.builder.master("local[2]").config(map={**settings}).getOrCreate()
    files = spark.readStream.schema("page string, who string, second long").json(str(home / "in"))
    frame = files.selectExpr("page", "who", "timestamp_seconds(second) AS at")
    source = SourceFrame(frame, key="page", value="who", timestamp="at")
    state = Memory(log=Directory(str(home / "state")))
    results = transform_frames(builder.build(), {VISITS: source}, state=state, tasks=2)
    query = write_each(results, {BY_MINUTE: show_minutes, SIGN_UPS: show_sign_ups})
    started = query.option("checkpointLocation", str(home / "checkpoint")).start()
    started.processAllAvailable()
    spark.stop()
