"""Each benchmark dataset generates the same records on each call, in the documented format."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.suite.ads import AD_CLICKS, DISORDER_MS, IMPRESSIONS
from benchmarks.suite.auctions import AUCTIONS, AUCTIONS_OF_BIDS, PERSONS
from benchmarks.suite.bids import BIDS
from benchmarks.suite.clicks import CLICKS, GAP_MS, KEYS
from benchmarks.suite.dataset import CLOSER, DAY_MS, PARTITIONS, START_MS, Dataset
from benchmarks.suite.messages import BLOCKED, MESSAGES, TRANSLATIONS
from benchmarks.suite.plain_joins import within
from benchmarks.suite.users import USERS, VIEWS
from benchmarks.suite.zipf import zipf
from kstreams.partitioner import partition_of

JSON = [
    *(CLICKS, BIDS, VIEWS, USERS, IMPRESSIONS, AD_CLICKS),
    *(AUCTIONS, AUCTIONS_OF_BIDS, PERSONS, MESSAGES),
]
DATASETS = [*JSON, BLOCKED, TRANSLATIONS]
IDS = [dataset.name for dataset in DATASETS]


@pytest.mark.parametrize("dataset", DATASETS, ids=IDS)
def test_dataset_generates_equal_records_on_each_call(dataset: Dataset) -> None:
    assert dataset.records(500).equals(dataset.records(500))


@pytest.mark.parametrize("dataset", JSON, ids=IDS[: len(JSON)])
def test_json_values_of_dataset_equal_its_columns(dataset: Dataset) -> None:
    table = dataset.records(200)
    fields = [name for name in table.column_names if name not in ("key", "value", "timestamp")]
    values = [json.loads(value.as_py()) for value in table.column("value")]
    for name in fields:
        assert [value[name] for value in values] == table.column(name).to_pylist()


@pytest.mark.parametrize("dataset", DATASETS, ids=IDS)
def test_topic_rows_have_partitions_of_their_keys_and_one_end_record_per_partition(
    dataset: Dataset,
) -> None:
    table = dataset.records(300)
    rows = dataset.topic_rows(table).to_pylist()
    assert len(rows) == dataset.rows(300)
    assert [row["value"] for row in rows[:-PARTITIONS]] == table.column("value").to_pylist()
    for row in rows:
        assert row["partition"] == partition_of(row["key"], PARTITIONS)
    closers = rows[-PARTITIONS:]
    last = max(table.column("timestamp").to_pylist())
    assert Counter(row["partition"] for row in closers) == dict.fromkeys(range(PARTITIONS), 1)
    assert all(row["key"].startswith(CLOSER) for row in closers)
    assert {row["timestamp"] for row in closers} == {last + DAY_MS}


def test_clicks_are_five_milliseconds_apart_and_of_about_eighty_bytes() -> None:
    table = CLICKS.records(1000)
    assert set(np.diff(table.column("timestamp").to_numpy())) == {GAP_MS}
    sizes = [len(value.as_py()) for value in table.column("value")]
    assert 75 <= sum(sizes) / len(sizes) <= 90


def test_zipf_numbers_are_within_range_and_have_zipf_frequencies() -> None:
    drawn = Counter(zipf(np.random.default_rng(1), 200_000, 100).tolist())
    assert set(drawn) == set(range(1, 101))
    assert drawn[1] / drawn[10] == pytest.approx(10**1.3, rel=0.1)


def test_million_clicks_have_about_215_thousand_windows() -> None:
    # a tenth of the clicks, and so of the windows
    users = zipf(np.random.default_rng(7), 100_000, KEYS)
    windows = np.arange(100_000) * GAP_MS // 10_000
    assert len(set(zip(users.tolist(), windows.tolist(), strict=True))) == pytest.approx(
        21_500, rel=0.02
    )


def test_half_of_last_bids_are_on_one_auction_and_new_auctions_appear() -> None:
    table = BIDS.records(20_000)
    auctions = table.column("auction").to_numpy()
    assert np.unique(table.column("timestamp").to_numpy()).size == 20_000
    hot = Counter(auctions[-400:].tolist()).most_common(1)[0][1]
    assert 160 < hot < 260  # half of all
    assert auctions[-100:].min() > auctions[:100].max()  # new auctions appear


def test_dataset_with_records_out_of_order_is_refused() -> None:
    def backwards(count: int, random: np.random.Generator) -> pa.Table:
        table = CLICKS.make(count, random)
        return table.take(list(range(count))[::-1])

    with pytest.raises(ValueError, match="not in the order of event time"):
        Dataset("backwards", backwards, b"").records(10)
    with pytest.raises(ValueError, match="not in the order of event time"):
        Dataset("backwards", backwards, b"", disorder_ms=44).records(10)
    assert Dataset("backwards", backwards, b"", disorder_ms=45).records(10).num_rows == 10


def test_dataset_with_fewer_records_than_declared_is_refused() -> None:
    with pytest.raises(ValueError, match="has 10 records of 10"):
        Dataset("few", CLICKS.make, b"", size=lambda count: 2 * count).records(10)


def test_all_users_precede_first_view_and_change_region_between_views() -> None:
    views, users = VIEWS.records(20_000), USERS.records(20_000)
    times = users.column("timestamp").to_numpy()
    loaded = users.slice(0, 2_000)
    assert set(views.column("key").to_pylist()) <= set(loaded.column("key").to_pylist())
    assert (times[:2_000] < START_MS).all()
    assert (times[2_000:] >= START_MS).sum() == 400  # 2 %
    assert not set(times) & set(views.column("timestamp").to_numpy())


def test_tenth_of_impressions_is_clicked_and_no_pair_is_near_a_bound_of_join_range() -> None:
    shown, clicks = IMPRESSIONS.records(20_000), AD_CLICKS.records(20_000)
    near = within(shown, clicks, before_ms=0, after_ms=10_000)
    assert near.pairs["number_left"].nunique() == pytest.approx(2_000, rel=0.1)
    pairs = len(near.pairs)
    assert pairs > near.pairs["number_right"].nunique()  # some have two partners
    for before, after in ((-DISORDER_MS, 10_000 - 500), (DISORDER_MS, 10_000 + DISORDER_MS)):
        assert len(within(shown, clicks, before_ms=before, after_ms=after).pairs) == pairs
    for table in (shown, clicks):
        times = list(zip(table.column("key"), table.column("timestamp"), strict=True))
        assert len(set(times)) == len(times)


def test_auctions_are_older_than_their_bids_and_younger_than_their_sellers() -> None:
    bids, auctions = BIDS.records(20_000), AUCTIONS_OF_BIDS.records(20_000)
    opened = dict(zip(*(auctions.column(n).to_pylist() for n in ("key", "timestamp")), strict=True))
    for key, time in zip(*(bids.column(n).to_pylist() for n in ("key", "timestamp")), strict=True):
        assert opened[key] + 1_000 <= time <= opened[key] + 10_000
    auctions, persons = AUCTIONS.records(20_000), PERSONS.records(20_000)
    came = dict(zip(*(persons.column(n).to_pylist() for n in ("key", "timestamp")), strict=True))
    for key, time in zip(
        *(auctions.column(n).to_pylist() for n in ("seller", "timestamp")), strict=True
    ):
        assert came[str(key).encode()] <= time
    wanted = Counter(auctions.column("category").to_pylist())[10]
    assert wanted == pytest.approx(4_000, rel=0.1)


def test_rows_of_blocked_and_translation_tables_are_older_than_all_messages() -> None:
    first = MESSAGES.records(20_000).column("timestamp")[0].as_py()
    for dataset in (BLOCKED, TRANSLATIONS):
        assert max(dataset.records(20_000).column("timestamp").to_pylist()) < first
    senders = set(MESSAGES.records(20_000).column("key").to_pylist())
    assert senders & set(BLOCKED.records(20_000).column("key").to_pylist())
