"""The plain models of joins that peers are compared with join correctly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from benchmarks.suite.plain_joins import as_of, within
from benchmarks.suite.registry import workload_by
from benchmarks.suite.workload import Expected

S = 1_000


def table(**columns: Sequence[Any]) -> pa.Table:
    count = len(columns["key"])
    return pa.table({"value": [b""] * count, **columns})


def test_as_of_function_joins_record_with_latest_row_at_its_time() -> None:
    stream = table(key=[b"a", b"a", b"b", b"a"], timestamp=[10, 20, 25, 30])
    rows = table(key=[b"a", b"a"], timestamp=[20, 21], region=["x", "y"])
    found = as_of(stream, rows)
    assert found["region"].fillna("-").tolist() == ["-", "x", "-", "y"]
    assert found["timestamp"].tolist() == [10, 20, 25, 30]


def test_within_function_pairs_records_within_time_bounds_and_lists_unmatched_records() -> None:
    left = table(key=[b"a", b"a", b"b"], timestamp=[100, 103, 100], cost=[1, 2, 3])
    right = table(key=[b"a", b"a", b"c"], timestamp=[99, 110, 100], price=[4, 5, 6])
    found = within(left, right, before_ms=1, after_ms=9)
    pairs = found.pairs[["cost", "price"]].itertuples(index=False, name=None)
    assert list(pairs) == [(1, 4), (2, 5)]
    assert found.left["cost"].tolist() == [3]
    assert found.right["price"].tolist() == [6]


def expected(name: str, *tables: pa.Table) -> Expected:
    return workload_by(name).expected(*tables)


def test_workload_w5_counts_views_by_current_region_and_for_spark_by_first_region() -> None:
    start = 1_704_067_200_000
    views = table(key=[b"a", b"a", b"b"], timestamp=[start, start + 5 * S, start + 12 * S])
    users = table(
        key=[b"a", b"b", b"a"],
        timestamp=[start - 2, start - 1, start + S],
        region=["x", "x", "y"],
    )
    assert expected("W5", views, users) == {
        (b"x", start, 0): (1, start),
        (b"y", start, 0): (1, start + 5 * S),
        (b"x", start + 10 * S, 0): (1, start + 12 * S),
    }
    apart = workload_by("W5").apart_of("spark")
    assert apart is not None
    assert apart.expected(views, users) == {
        (b"x", start, 0): (2, start + 5 * S),
        (b"x", start + 10 * S, 0): (1, start + 12 * S),
    }
    assert workload_by("W5").apart_of("kstreams") is None


def test_workload_w6_pairs_impressions_with_clicks_and_its_outer_join_adds_unmatched_records() -> (
    None
):
    shown = table(key=[b"a", b"b"], timestamp=[5 * S, 6 * S], cost=[1, 2])
    clicks = table(key=[b"a", b"b"], timestamp=[15 * S, 17 * S], price=[3, 4])
    pairs: Mapping[Any, Any] = {(b"a", 5 * S, 15 * S): ((1, 3), 15 * S)}
    assert expected("W6", shown, clicks) == pairs
    assert expected("W6o", shown, clicks) == {
        **pairs,
        (b"b", 6 * S, 0): ((2, None), 6 * S),
        (b"b", 0, 17 * S): ((None, 4), 17 * S),
    }


def test_workload_w7_drops_messages_of_blocked_senders_and_translates_other_messages() -> None:
    messages = table(
        key=[b"a", b"b", b"a"], timestamp=[1, 2, 3], to=["b", "a", "a"], text=["one", "one", "two"]
    )
    blocked = table(key=[b"b"], timestamp=[0])
    words = table(key=[b"one"], timestamp=[0], word=["one"], to=["eins"])
    assert expected("W7", messages, blocked, words) == {
        (b"b", 1, 0): ("eins", 1),
        (b"a", 3, 0): ("two", 3),
    }


AUCTIONS = table(
    key=[b"1", b"2", b"3", b"4"],
    timestamp=[2 * S, 3 * S, 4 * S, 15 * S],
    seller=[7, 7, 8, 8],
    category=[10, 11, 10, 10],
    itemName=["one", "two", "three", "four"],
)
PERSONS = table(
    key=[b"7", b"8"],
    timestamp=[S, 5 * S],
    name=["Kate", "Paul"],
    city=["Kent", "Boise"],
    state=["WA", "ID"],
)


def test_query_q3_selects_sellers_of_given_states_with_auctions_of_given_category() -> None:
    assert expected("Q3", AUCTIONS, PERSONS) == {
        (b"3", 0, 0): (("Paul", "Boise", "ID"), None),
        (b"4", 0, 0): (("Paul", "Boise", "ID"), None),
    }


def test_query_q8_selects_sellers_with_auctions_in_window_of_their_registration() -> None:
    late = table(
        key=[b"7", b"8"],
        timestamp=[S, 25 * S],
        name=["Kate", "Paul"],
        city=["", ""],
        state=["", ""],
    )
    assert expected("Q8", AUCTIONS, late) == {(b"7", 0, 0): ("Kate", None)}


def test_each_bid_is_joined_with_item_of_its_auction() -> None:
    bids = table(key=[b"1", b"2", b"1"], timestamp=[5, 6, 7], price=[30, 40, 50])
    assert expected("Q20", bids, AUCTIONS) == {
        (b"1", 5, 0): (("30", "one"), 5),
        (b"1", 7, 0): (("50", "one"), 7),
    }
