"""Q8: new sellers. Who has come in a 10 s window, and opened an auction in it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.suite.auctions import AUCTIONS, PERSONS
from benchmarks.suite.workload import Expected, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIZE_MS = 10_000


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
    last: dict[tuple[str, int], int] = {}
    sold = (auctions.column(name).to_pylist() for name in ("seller", "timestamp"))
    for seller, time in zip(*sold, strict=True):
        last[str(seller), time // SIZE_MS] = time  # they are in order
    columns = (persons.column(name).to_pylist() for name in ("key", "timestamp", "name"))
    return {
        (key, time // SIZE_MS * SIZE_MS, 0): (name, max(time, last[key.decode(), time // SIZE_MS]))
        for key, time, name in zip(*columns, strict=True)
        if (key.decode(), time // SIZE_MS) in last
    }


WORKLOAD = Workload(
    name="Q8",
    title="NEXMark Q8, who is new in 10 s and sells in them: windowed join",
    dataset=AUCTIONS,
    besides=(PERSONS,),
    shape="window",
    expected=expected,
    spark=spark,
    values="json",
    by_record=False,
    records=900_000,
)
