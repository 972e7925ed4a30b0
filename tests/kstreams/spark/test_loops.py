"""Loops on Spark give the results of the test driver, hop by hop, whatever the trigger."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from kstreams import Record
from kstreams.errors import LoopError
from kstreams.testing import TopologyTestDriver
from tests.support.spark.bench import Bench
from tests.support.topologies.looped_walks import IN, KEYS, OUT, TOTALS, visits, walking

pytestmark = pytest.mark.spark


def test_each_hop_is_a_batch_without_wait_and_is_counted_once(bench: Bench) -> None:
    topology = walking(behind_edge=True)
    walks = [(key, steps) for key in KEYS for steps in (0, 2, 4)]
    records = [Record(key, steps, 5 + n) for n, (key, steps) in enumerate(walks)]
    bench.create(IN, OUT)
    bench.emit(IN, records)

    bench.run(topology, trigger=timedelta(hours=1))

    assert bench.store(topology, TOTALS) == visits(walks)
    with TopologyTestDriver(topology, partitions=2) as driver:
        driver.pipe_batch(IN, records)
        assert driver.store_contents(TOTALS) == visits(walks)
        driver_results = [(record.key, record.value) for record in driver.read(OUT)]
    for key in KEYS:
        own = [value for found, value in bench.records(OUT) if found == key]
        assert own == [value for found, value in driver_results if found == key]
    assert [report.looped for report in bench.reports] == [12, 12, 6, 6, 0]
    assert bench.last_commit(topology).loops == ()

    # A walk with too many hops fails the app with loop and key, and loses nothing.
    bench.emit(IN, [Record("k0", 5, 100), Record("k3", 1, 100)])
    with pytest.raises(LoopError, match=r"loop 'again' 3 times.*the result has key 'k4'"):
        bench.run(walking(3, behind_edge=True))
    assert sum(part.rows for part in bench.last_commit(topology).loops) == 1
    bench.run(walking(3, "skip", behind_edge=True))
    assert Counter(bench.store(topology, TOTALS)) == Counter(visits([*walks, ("k0", 3), ("k3", 1)]))
    assert bench.reports[-1].dropped == {"skipped-LoopError": 1}
