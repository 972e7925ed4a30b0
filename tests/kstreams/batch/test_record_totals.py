"""Record totals: input equals output, dropped and held records at every commit of an app."""

from __future__ import annotations

import shutil
from pathlib import Path

from kstreams import (
    INT64,
    TEXT,
    Emitter,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.operators import map_values
from kstreams.state.log.directory import Directory
from kstreams.testing import FakeClock
from tests.support.apps.one_query import WholeQuery

IN, MORE = Topic("in", TEXT, TEXT), Topic("more", TEXT, TEXT)
OUT = Topic("out", TEXT, INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class Count(FixedKeyProcessor[str, str, int]):
    """Forwards the number of records of each key."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(COUNTS)

    def process(self, record: Record[str, str]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


def refused(value: str) -> str:
    if value == "bad":
        raise ValueError(value)
    return value


def topology(*sources: Topic[str, str]) -> Topology:
    """Return a count after a repartition, for any sources; failing records are skipped."""
    builder = TopologyBuilder("whole")
    read = [builder.add_source(topic.name, topic, on_error="skip") for topic in sources]
    checked = [
        builder.add_processor(f"check-{node.name}", map_values(refused), node) for node in read
    ]
    again = builder.repartition("again", *checked, key=TEXT, value=TEXT)
    counts = builder.add_processor("count", Count, again, stores=[COUNTS])
    builder.add_sink("out", OUT, counts)
    return builder.build()


def emit(query: WholeQuery, topic: Topic[str, str]) -> None:
    """Write 10 records, one of which is skipped."""
    with Emitter(topic, query.connection) as emitter:
        emitter.emit_many(Record(f"k{n % 3}", "bad" if n == 4 else "v", n) for n in range(10))


def came(query: WholeQuery, node: str) -> tuple[int, int]:
    """Return the numbers of records a node has received and dropped since the app began."""
    last = query.driver.last
    assert last is not None
    assert last.totals is not None
    counts = last.totals.nodes[node]
    if node != "count":
        topic = last.totals.topics[(IN if node == "in" else MORE).name]
        assert topic.records_in == counts.records_in - counts.held
    return counts.records_in, counts.lost


def test_record_totals_balance_through_restart_crash_upgrade_savepoint_fork_and_reset(
    tmp_path: Path,
) -> None:
    query = WholeQuery(tmp_path, topology(IN), most=4)
    query.start()
    emit(query, IN)
    query.run()  # each batch checks all nodes and partitions
    assert came(query, "in") == (10, 1)

    emit(query, IN)  # nothing is planned during a pause or a restart
    query.start()
    assert came(query, "in") == (10, 1)
    query.batch(dies=True)
    query.run()
    assert came(query, "in") == (20, 2)

    query.savepoints.create("before", FakeClock(5))
    emit(query, MORE)
    query.upgrade(topology(IN, MORE))
    emit(query, IN)
    query.run()
    assert (came(query, "in"), came(query, "more")) == ((30, 3), (10, 1))
    assert came(query, "count") == (36, 0)

    shutil.copytree(tmp_path / "topics", tmp_path / "forked" / "topics")
    source = ForkSource(tmp_path / "checkpoint", "before", Directory(str(tmp_path / "log")))
    fork = WholeQuery(tmp_path / "forked", topology(IN), most=4, fork=source)
    fork.start()
    fork.run()
    assert came(fork, "in") == (10, 1)  # records after the savepoint
    fork.start()
    emit(fork, IN)
    fork.run()
    assert came(fork, "in") == (20, 2)

    query.reset()
    query.run()
    assert (came(query, "in"), came(query, "more")) == ((30, 3), (10, 1))
