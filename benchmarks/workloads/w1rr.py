"""W1RR: W1 after two repartitions: the records pass to other workers before they are counted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchmarks.workloads import w1

WORKLOAD = replace(
    w1.WORKLOAD,
    name="W1RR",
    title="tumbling 10 s count per key after two repartitions",
    topology=partial(w1.counting, repartitions=2),
    spark=None,
)
