"""Topics of unequal partition counts in one group: test driver and Spark agree."""

from __future__ import annotations

import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, View, map_values
from kstreams.errors import CheckpointMismatchError
from kstreams.io import Emitter
from kstreams.testing import TopologyTestDriver
from tests.support.spark.bench import COUNTS, TOTALS, WORDS, Bench, Count

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

CLICKS = Topic("clicks", TEXT, INT64)
AUDIT = Topic("audit", TEXT, TEXT)
MOVED = Topic("more-words", TEXT, TEXT)

COUNTS_OF = {"words": 2, "clicks": 5, "more-words": 3, "totals": 2, "audit": 2}
WORDS_SENT = [(f"word-{number % 11}", "w") for number in range(44)]
CLICKS_SENT = [(f"click-{number}", number) for number in range(30)]


def topology() -> Topology:
    """Count words of a small topic and a repartition; one sink also gets a large topic's clicks."""
    builder = TopologyBuilder("uneven")
    words, clicks = builder.add_source("words", WORDS), builder.add_source("clicks", CLICKS)
    more = builder.add_source("more", MOVED)
    moved = builder.repartition("moved", more, key=TEXT, value=TEXT)
    totals = builder.add_processor("count", Count, words, moved, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, totals, clicks)
    texts = builder.add_processor("texts", map_values(str), clicks)
    builder.add_sink("audit", AUDIT, builder.merge("both", words, texts))
    return builder.build()


def test_spark_and_test_driver_agree_on_topics_of_unequal_partition_counts(bench: Bench) -> None:
    for topic in (WORDS, CLICKS, MOVED, TOTALS, AUDIT):
        bench.create(topic, partitions=COUNTS_OF[topic.name])
    with TopologyTestDriver(topology(), partitions=COUNTS_OF) as driver:
        for topic, sent in ((WORDS, WORDS_SENT), (MOVED, WORDS_SENT)):
            bench.emit(topic, sent)
            for key, text in sent:
                driver.pipe(topic, key, text)
        bench.emit(CLICKS, CLICKS_SENT)
        for key, number in CLICKS_SENT:
            driver.pipe(CLICKS, key, number)
        bench.run(topology())
        assert sorted(bench.records(TOTALS)) == sorted(
            (r.key, r.value) for r in driver.read(TOTALS)
        )
        assert sorted(bench.records(AUDIT)) == sorted((r.key, r.value) for r in driver.read(AUDIT))
        assert bench.store(topology(), COUNTS) == driver.store_contents(COUNTS)
        with View(bench.checkpoint, COUNTS) as view:
            found = {key: view.get(key) for key, _ in WORDS_SENT}
        assert found == driver.store_contents(COUNTS)


def test_changed_partition_count_of_smaller_topic_is_rejected_if_a_store_depends_on_it(
    bench: Bench,
) -> None:
    for topic in (WORDS, CLICKS, MOVED, TOTALS, AUDIT):
        bench.create(topic, partitions=COUNTS_OF[topic.name])
    bench.emit(WORDS, WORDS_SENT)
    bench.run(topology())
    bench.connection.admin().delete("words")
    bench.create(WORDS, partitions=3)
    with Emitter(WORDS, bench.connection) as emitter:
        emitter.emit_many(WORDS_SENT)
    with pytest.raises(CheckpointMismatchError, match="2 partitions before, now 3"):
        bench.run(topology())
