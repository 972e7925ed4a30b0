"""An app whose state is durable on a real S3 server alone."""

from __future__ import annotations

import logging
import shutil
import uuid
from collections import Counter
from datetime import timedelta

import pytest

from kstreams.errors import KStreamsError
from kstreams.state.traffic import Traffic
from kstreams_rocksdb import RocksDB
from kstreams_s3 import BucketMissingError
from tests.kstreams.spark.apps import TOTALS, WORDS, Bench, counting, expected_totals
from tests.servers.s3 import SECRET_KEY, Bucket

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

FIRST = [(word, "1") for word in ["the", "cat", "sat", "on", "the", "mat"]]
SECOND = [(word, "2") for word in ["the", "dog", "sat", "on", "the", "cat"]]
THIRD = [(word, "3") for word in ["the", "end"]]


def _traffic(bench: Bench) -> Traffic:
    """Return what was asked of the log since the last call."""
    found = sum((report.log for report in bench.reports), Traffic())
    bench.reports.clear()
    return found


def test_an_empty_machine_goes_on_from_s3_and_a_warm_one_reads_no_state(
    bench: Bench, bucket: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kstreams")
    prefix = f"app-{uuid.uuid4().hex[:8]}"
    local = bench.home / "local"
    state = RocksDB(directory=str(local), log=bucket.settings(prefix))
    bench.create(WORDS, TOTALS)

    with bench.app(counting(), state=state) as app:
        app.open()
        bench.emit(WORDS, FIRST)
        app.drain(timeout=timedelta(seconds=90))
        bench.reports.clear()
        bench.emit(WORDS, SECOND)
        app.drain(timeout=timedelta(seconds=90))
    warm = _traffic(bench)
    written = bucket.keys(f"{prefix}/")
    deltas = [key for key in written if key.endswith(".delta")]
    assert len(deltas) == 4  # two tasks, two batches
    assert (warm.gets, warm.puts) == (0, 3)  # of each task one, and a commit
    assert not (bench.checkpoint / "state").exists()

    shutil.rmtree(local)
    bench.emit(WORDS, THIRD)
    bench.run(counting(), state=state)
    cold = _traffic(bench)

    assert Counter(bench.records(TOTALS)) == expected_totals([*FIRST, *SECOND, *THIRD])
    assert cold.gets >= len(deltas)
    assert "durable log: " in caplog.text
    assert SECRET_KEY not in caplog.text


def test_a_missing_bucket_stops_an_app_before_it_reads(bench: Bench, bucket: Bucket) -> None:
    bench.create(WORDS, TOTALS)
    bench.emit(WORDS, FIRST)
    missing = Bucket.__new__(Bucket)
    missing.__dict__.update(bucket.__dict__, name="no-such-bucket")
    with pytest.raises(KStreamsError) as caught:
        bench.run(counting(), state=RocksDB(log=missing.settings("x")))
    assert isinstance(caught.value, BucketMissingError)
    assert bench.reports == []
