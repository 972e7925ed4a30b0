"""Q8: new sellers. Which persons registered and opened an auction in the same 10 s window?

A result's time is not deterministic: further auctions do not change the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.suite.auctions import AUCTION, AUCTIONS, PERSON, PERSONS, Person
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import INT64, NONE, TEXT, Topic, Topology, TopologyBuilder, map_
from kstreams.aggregators import count, over, reducing
from kstreams.durations import seconds
from kstreams.joins import inner
from kstreams.stores import timestamped_store, window_store
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_json import json_serde

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIZE_MS = 10_000
SIZE = TumblingWindows(seconds(10), grace=seconds(60))
OF_WINDOW = windowed(TEXT, SIZE)


def name_of(person: Person) -> str:
    return person.name


def topology(auctions: str, persons: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("q8")
    opened = builder.add_source("auctions", Topic(auctions, TEXT, AUCTION))
    by_seller = builder.add_processor("seller", map_(lambda _, a: (str(a.seller), None)), opened)
    by_seller = builder.repartition("by-seller", by_seller, key=TEXT, value=NONE)
    counts = window_store("counts", key=TEXT, value=INT64)
    sold = builder.add_processor(
        "sold", windowed_aggregate(SIZE, count(), store=counts, execution=execution), by_seller
    )
    come = builder.add_source("persons", Topic(persons, TEXT, PERSON))
    names = window_store("names", key=TEXT, value=TEXT)
    latest = over(name_of, reducing(max, TEXT))
    new = builder.add_processor(
        "new", windowed_aggregate(SIZE, latest, store=names, execution=execution), come
    )
    selling = timestamped_store("selling", key=OF_WINDOW, value=INT64)
    coming = timestamped_store("coming", key=OF_WINDOW, value=TEXT)
    both = builder.join_tables(
        "new-sellers",
        builder.to_table("coming", new, store=coming),
        builder.to_table("selling", sold, store=selling),
        inner(lambda name, _: name),
    )
    out = Topic(sink, OF_WINDOW, json_serde(str), nulls="pass")
    builder.add_sink("sellers-out", out, builder.to_stream("updates", both))
    return builder.build()


def spark(auctions: DataFrame, persons: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as f

    span = f.window("timestamp", f"{SIZE_MS} milliseconds").alias("span")
    seller = f.get_json_object("value", "$.seller").alias("key")
    selling = (
        auctions.withWatermark("timestamp", "60 seconds")
        .groupBy(seller, span)
        .agg(f.count("*").alias("auctions"))
    )
    new = persons.withWatermark("timestamp", "60 seconds").select(
        "key", span, f.get_json_object("value", "$.name").alias("value")
    )
    both = new.join(selling, ["key", "span"])
    return both.select("key", f.unix_millis("span.start").alias("start"), "value"), "append"


def expected(auctions: pa.Table, persons: pa.Table) -> Expected:
    sold = (auctions.column(name).to_pylist() for name in ("seller", "timestamp"))
    selling = {(str(seller), time // SIZE_MS) for seller, time in zip(*sold, strict=True)}
    columns = (persons.column(name).to_pylist() for name in ("key", "timestamp", "name"))
    return {
        (key, time // SIZE_MS * SIZE_MS, 0): (name, None)
        for key, time, name in zip(*columns, strict=True)
        if (key.decode(), time // SIZE_MS) in selling
    }


WORKLOAD = Workload(
    name="Q8",
    title="NEXMark Q8, persons who are new and sell within the same 10 s: windowed join",
    dataset=AUCTIONS,
    besides=(PERSONS,),
    shape="window",
    expected=expected,
    topology=topology,
    spark=spark,
    values="json",
    by_record=False,
    records=1_500_000,
)
