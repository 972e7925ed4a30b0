"""W1R: W1 after a repartition: the records pass to other workers before they are counted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchmarks.workloads import w1

WORKLOAD = replace(
    w1.WORKLOAD,
    name="W1R",
    title="tumbling 10 s count per key after a repartition",
    topology=partial(w1.counting, repartitions=1),
    spark=None,
)
