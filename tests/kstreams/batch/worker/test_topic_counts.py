"""Records and bytes by topic, read and written, by records and by columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    DeadLetter,
    Topic,
    Topology,
    TopologyBuilder,
    aggregate,
    filter_,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.connection import RawRecord
from kstreams.ids import TaskId
from kstreams.io import topic_by
from kstreams.processors.interceptor import Interceptor
from kstreams.state.log.topic_counts import (
    OTHER_TOPICS,
    TopicCounts,
    bounded_topics,
    summed_topics,
    topics_from_json,
    topics_to_json,
)
from kstreams.testing import TopologyTestDriver

CLICKS = Topic("clicks", key=TEXT, value=INT64)
TOTALS = Topic("totals", key=TEXT, value=INT64)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64).with_changelog("counts-log")
BY_PAGE = topic_by(lambda record: f"page-{record.value % 2}", key=TEXT, value=INT64, label="pages")


class ByRecord:
    """An interceptor of records; no columns run around it."""

    def bind(self, node: str, task: TaskId, call: Any) -> Any:
        return call


def _topology() -> Topology:
    builder = TopologyBuilder("counted")
    clicks = builder.add_source("clicks", CLICKS, on_error=DeadLetter("dead"))
    some = builder.add_processor("some", filter_(lambda key, value: value != 3), clicks)
    builder.add_sink("pages", BY_PAGE, some)
    totals = builder.add_processor("count", aggregate(count(), store=COUNTS), some)
    builder.add_sink("totals", TOTALS, totals)
    return builder.build()


def _size(records: Iterable[RawRecord]) -> tuple[int, int]:
    found = list(records)
    return len(found), sum(len(r.key or b"") + len(r.value or b"") for r in found)


@pytest.mark.parametrize("interceptors", [(), (ByRecord(),)], ids=["columns", "records"])
def test_topic_counts_equal_records_and_bytes_in_topics(
    interceptors: Sequence[Interceptor],
) -> None:
    with TopologyTestDriver(_topology(), partitions=3, interceptors=interceptors) as driver:
        for batch in range(3):
            for n in range(20):
                driver.write(CLICKS, f"key-{n % 7}", n % 5, timestamp=100 * batch + n)
            driver.write_bytes("clicks", b"odd", b"no integer", timestamp=50)
            driver.write_bytes("clicks", b"gone", None, timestamp=50)
            driver.run()
        topics = driver.totals.topics
        raw = driver.connection.reader()
        ends = driver.connection.admin().end_offsets
        written = {
            topic: _size(r for p, end in ends(topic).items() for r in raw.read(topic, p, 0, end))
            for topic in ("clicks", "page-0", "page-1", "totals", "counts-log", "dead")
        }
        assert all(count for count, _ in written.values())
        assert topics["clicks"] == TopicCounts(*written.pop("clicks"))
        assert {
            t: (c.records_out, c.bytes_out) for t, c in topics.items() if t != "clicks"
        } == written


def test_topic_counts_can_be_added_and_survive_conversion_to_json() -> None:
    one, two = (
        {"a": TopicCounts(1, 2, 3, 4)},
        {"a": TopicCounts(10, 20, 30, 40), "b": TopicCounts(1)},
    )
    both = summed_topics([one, two])
    assert both == {"a": TopicCounts(11, 22, 33, 44), "b": TopicCounts(1)}
    assert topics_from_json(topics_to_json(both)) == both
    for data in ({"a": [1, 2, 3]}, {"a": 5}, {"a": [1, 2, 3, -4]}):
        with pytest.raises(ValueError, match="count"):
            topics_from_json(data)


def test_number_of_counted_topics_is_bounded_if_records_choose_topics() -> None:
    topics: dict[str, TopicCounts] = {}
    for number in range(1_000):
        topics = dict(bounded_topics(summed_topics([topics, {f"t{number}": TopicCounts(1, 2)}])))
    assert len(topics) == 256
    assert topics[OTHER_TOPICS] == TopicCounts(1_000 - 255, 2 * (1_000 - 255))
