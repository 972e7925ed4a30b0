"""Record counts of nodes: sums, bounded size, and conversion to JSON."""

from __future__ import annotations

import json

import pytest

from kstreams.ids import TopicPartition
from kstreams.state.log.topic_counts import TopicCounts
from kstreams.state.log.totals import OTHERS, NodeCounts, PartitionCounts, Totals, by_reason, summed

TOTALS = Totals(
    {"in": NodeCounts(9, 6, 1, {"late": 2}), "out": NodeCounts(6, 6)},
    {"in": {TopicPartition("lines", 3): PartitionCounts(8, 1)}},
    {"lines": TopicCounts(8, 70), "results": TopicCounts(0, 0, 6, 12)},
)


def test_record_totals_survive_conversion_to_json() -> None:
    assert Totals.from_json(json.loads(json.dumps(TOTALS.to_json()))) == TOTALS


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([], r"expected a JSON object, got \[\]"),
        ({"nodes": {}}, "field 'sources' is missing"),
        (
            {"nodes": {"in": [1, 2, 3]}, "sources": {}},
            r"expected the four counts of a node \(records in",
        ),
        (
            {"nodes": {"in": [1, 2, -3, {}]}, "sources": {}},
            "a count of a node is -3, expected 0 to",
        ),
        (
            {"nodes": {"in": [1, 2, 3, {"late": "2"}]}, "sources": {}},
            "field 'late' of 'dropped' is '2', not a whole number",
        ),
        (
            {"nodes": {}, "sources": {"in": {"lines": [1, 2]}}},
            "'lines' does not name a partition of a topic",
        ),
        (
            {"nodes": {}, "sources": {"in": {"lines/0": [1]}}},
            r"expected the two counts of a partition \(processed and held records\), got",
        ),
        (
            {"nodes": {}, "sources": {}, "topics": {"lines": [1, 2, 3]}},
            r"expected the four counts of topic 'lines' \(records and bytes in",
        ),
    ],
)
def test_invalid_record_totals_are_rejected(data: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Totals.from_json(data)


def test_totals_of_earlier_format_have_no_topics() -> None:
    content = json.loads(json.dumps(TOTALS.to_json()))
    del content["topics"]
    assert Totals.from_json(content) == Totals(TOTALS.nodes, TOTALS.sources)


def test_totals_are_summed_by_node_and_reason() -> None:
    more = {"in": NodeCounts(1, 0, 0, {"late": 1, "null-key": 0}), "new": NodeCounts(1)}
    found = summed([TOTALS.nodes, more])
    assert found["in"] == NodeCounts(10, 6, 1, {"late": 3})
    assert (found["in"].lost, by_reason(found)) == (3, {"late": 3})
    assert found["new"] == NodeCounts(1)


def test_number_of_reasons_made_by_records_is_bounded() -> None:
    counts = NodeCounts()
    for number in range(500):
        counts = (counts + NodeCounts(1, dropped={f"bad {number}": 1})).bounded()
    assert len(counts.dropped) == 65
    assert counts.lost == counts.records_in == 500
    assert counts.dropped[OTHERS] == 500 - 64


def test_new_record_totals_count_records_that_wait_in_loops() -> None:
    begun = Totals.of_waiting({"again": 3, "empty": 0})
    assert begun == Totals({"again": NodeCounts(3, held=3)})
