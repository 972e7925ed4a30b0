"""W6o: impressions with clicks as in W6, and records without a partner; outer interval join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.suite.ads import AD_CLICKS, IMPRESSIONS
from benchmarks.suite.workload import Execution, Expected, Workload
from benchmarks.workloads.w6 import add_join, joined, pair, pairs_of, spark_join
from kstreams import Topology
from kstreams.joins import outer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def topology(shown: str, clicks: str, sink: str, execution: Execution) -> Topology:
    return add_join("w6o", shown, clicks, sink, outer(pair))


def spark(shown: DataFrame, clicks: DataFrame) -> tuple[DataFrame, str]:
    return spark_join(shown, clicks, "full_outer")


def expected(shown: pa.Table, clicks: pa.Table) -> Expected:
    found = joined(shown, clicks)
    alone = found.left[["key", "timestamp_left", "cost"]].itertuples(index=False, name=None)
    strays = found.right[["key", "timestamp_right", "price"]].itertuples(index=False, name=None)
    return {
        **pairs_of(found.pairs),
        **{(bytes(key), int(at), 0): ((int(cost), None), int(at)) for key, at, cost in alone},
        **{(bytes(key), 0, int(at)): ((None, int(price)), int(at)) for key, at, price in strays},
    }


WORKLOAD = Workload(
    name="W6o",
    title="impressions and clicks within 10 s, matched or unmatched: outer interval join",
    dataset=IMPRESSIONS,
    besides=(AD_CLICKS,),
    shape="event",
    expected=expected,
    topology=topology,
    by_record=False,
    spark=spark,
    records=600_000,
)
