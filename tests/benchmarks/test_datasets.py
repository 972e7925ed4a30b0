"""The benchmarks' input is the same at each draw, and has the shape that its description says."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.suite.bids import BIDS
from benchmarks.suite.clicks import CLICKS, GAP_MS, KEYS
from benchmarks.suite.dataset import CLOSER, DAY_MS, PARTITIONS, Dataset
from benchmarks.suite.zipf import zipf
from kstreams.partitioner import partition_of

DATASETS = [pytest.param(CLICKS, id="clicks"), pytest.param(BIDS, id="bids")]


@pytest.mark.parametrize("dataset", DATASETS)
def test_records_are_the_same_at_each_draw(dataset: Dataset) -> None:
    assert dataset.records(500).equals(dataset.records(500))


@pytest.mark.parametrize("dataset", DATASETS)
def test_values_are_json_that_says_what_the_columns_say(dataset: Dataset) -> None:
    table = dataset.records(200)
    fields = [name for name in table.column_names if name not in ("key", "value", "timestamp")]
    values = [json.loads(value.as_py()) for value in table.column("value")]
    for name in fields:
        assert [value[name] for value in values] == table.column(name).to_pylist()


@pytest.mark.parametrize("dataset", DATASETS)
def test_topic_rows_lie_where_their_keys_belong_and_end_with_a_closer_each(
    dataset: Dataset,
) -> None:
    table = dataset.records(300)
    rows = dataset.topic_rows(table).to_pylist()
    assert [row["value"] for row in rows[:300]] == table.column("value").to_pylist()
    for row in rows:
        assert row["partition"] == partition_of(row["key"], PARTITIONS)
    closers = rows[300:]
    last = table.column("timestamp")[-1].as_py()
    assert Counter(row["partition"] for row in closers) == dict.fromkeys(range(PARTITIONS), 1)
    assert all(row["key"].startswith(CLOSER) for row in closers)
    assert {row["timestamp"] for row in closers} == {last + DAY_MS}


def test_clicks_are_five_milliseconds_apart_and_of_about_eighty_bytes() -> None:
    table = CLICKS.records(1000)
    assert set(np.diff(table.column("timestamp").to_numpy())) == {GAP_MS}
    sizes = [len(value.as_py()) for value in table.column("value")]
    assert 75 <= sum(sizes) / len(sizes) <= 90


def test_zipf_is_truncated_and_has_its_shape() -> None:
    drawn = Counter(zipf(np.random.default_rng(1), 200_000, 100).tolist())
    assert set(drawn) == set(range(1, 101))
    assert drawn[1] / drawn[10] == pytest.approx(10**1.3, rel=0.1)


def test_million_clicks_fall_into_about_215_thousand_windows() -> None:
    # a tenth of them, and so of the windows
    users = zipf(np.random.default_rng(7), 100_000, KEYS)
    windows = np.arange(100_000) * GAP_MS // 10_000
    assert len(set(zip(users.tolist(), windows.tolist(), strict=True))) == pytest.approx(
        21_500, rel=0.02
    )


def test_bids_follow_the_description() -> None:
    table = BIDS.records(20_000)
    auctions = table.column("auction").to_numpy()
    assert np.unique(table.column("timestamp").to_numpy()).size == 20_000
    hot = Counter(auctions[-400:].tolist()).most_common(1)[0][1]
    assert 160 < hot < 260  # half of all
    assert auctions[-100:].min() > auctions[:100].max()  # new ones come


def test_records_out_of_order_are_refused() -> None:
    def backwards(count: int, random: np.random.Generator) -> pa.Table:
        table = CLICKS.make(count, random)
        return table.take(list(range(count))[::-1])

    with pytest.raises(ValueError, match="not in the order of event time"):
        Dataset("backwards", backwards, b"").records(10)
