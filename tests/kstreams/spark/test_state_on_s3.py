"""An app with durable state only on a real S3 server."""

from __future__ import annotations

import logging
import shutil
import uuid
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from devtools.servers.fault_proxy import FaultProxy, Refuse
from devtools.servers.s3 import SECRET_KEY, Bucket, S3Server
from kstreams import INT64, TEXT, Topic, View
from kstreams.app import ForkSource, Migration
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import SystemClock
from kstreams.errors import KStreamsError
from kstreams.state import Memory
from kstreams.state.log.traffic import Traffic
from kstreams_admin.changelog_restore import ChangelogRestore
from kstreams_admin.reset import reset
from kstreams_rocksdb import RocksDB
from kstreams_s3 import BucketMissingError, CredentialsExpiredError
from tests.support.spark.bench import (
    COUNTS,
    HALVES,
    LOGGED,
    TOTALS,
    WORDS,
    Bench,
    HalfCount,
    LoggedCount,
    counting,
    expected_totals,
    last_values,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

FIRST = [(word, "1") for word in ["the", "cat", "sat", "on", "the", "mat"]]
SECOND = [(word, "2") for word in ["the", "dog", "sat", "on", "the", "cat"]]
THIRD = [(word, "3") for word in ["the", "end"]]


def _traffic(bench: Bench) -> Traffic:
    """Return the requests to the log since the last call."""
    found = sum((report.log for report in bench.reports), Traffic())
    bench.reports.clear()
    return found


def test_empty_machine_restores_from_s3_and_warm_machine_reads_no_state(
    bench: Bench, bucket: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "kstreams")
    prefix = f"app-{uuid.uuid4().hex[:8]}"
    state = RocksDB(directory=str(bench.home / "local"), log=bucket.settings(prefix))
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
    packs = [key for key in written if key.endswith(".pack")]
    assert len(packs) == 4  # two workers, two batches
    assert (warm.gets, warm.puts) == (0, 3)  # one for each worker, and a commit
    assert not (bench.checkpoint / "state").exists()

    bench.emit(WORDS, THIRD)
    bench.run(counting(), state=replace(state, directory=str(bench.home / "another")))
    cold = _traffic(bench)

    assert Counter(bench.records(TOTALS)) == expected_totals([*FIRST, *SECOND, *THIRD])
    assert cold.gets >= len(packs)
    assert "durable log: " in caplog.text
    assert SECRET_KEY not in caplog.text


def test_missing_bucket_stops_app_before_it_reads(bench: Bench, bucket: Bucket) -> None:
    bench.create(WORDS, TOTALS)
    bench.emit(WORDS, FIRST)
    missing = Bucket.__new__(Bucket)
    missing.__dict__.update(bucket.__dict__, name="no-such-bucket")
    with pytest.raises(KStreamsError) as caught:
        bench.run(counting(), state=RocksDB(log=missing.settings("x")))
    assert isinstance(caught.value, BucketMissingError)
    assert bench.reports == []


@pytest.mark.long
def test_app_survives_throttling_and_expired_credentials_without_loss(
    bench: Bench, bucket: Bucket, s3_server: S3Server
) -> None:
    """Credentials expire for writes of tasks, then for the driver's commit, and are renewed."""
    bench.create(WORDS, TOTALS)
    expired = Refuse(400, "ExpiredToken", f"{SECRET_KEY} has expired")
    with FaultProxy(s3_server.address) as proxy:
        log = bucket.settings(f"expiring-{uuid.uuid4().hex[:8]}", endpoint_url=proxy.url)
        state = RocksDB(directory=str(bench.home / "local"), log=log)
        with bench.app(counting(), state=state) as app:
            app.open()
            bench.emit(WORDS, FIRST)
            app.drain(timeout=timedelta(seconds=90))
            proxy.heal()
            proxy.inject(Refuse(503, "SlowDown"), times=16)  # more than boto3 retries
            bench.emit(WORDS, SECOND)
            app.drain(timeout=timedelta(seconds=90))
            assert proxy.count("PUT") > 16
            so_far = [*FIRST, *SECOND]
            assert Counter(bench.records(TOTALS)) == expected_totals(so_far)

            proxy.inject(expired, method="PUT", contains=".pack", times=1_000)
            bench.emit(WORDS, THIRD)
            with pytest.raises(CredentialsExpiredError) as of_a_task:
                app.drain(timeout=timedelta(seconds=90))
        proxy.heal()
        proxy.inject(expired, method="PUT", contains=".json", times=1_000)
        with pytest.raises(CredentialsExpiredError) as of_the_commit:
            bench.run(counting(), state=state)
        for error in (of_a_task.value, of_the_commit.value):
            assert "s3://" in str(error)
            assert "S3(access_key=..., secret_key=..., session_token=...)" in error.hint
            assert "start the app again" in error.hint
            assert SECRET_KEY not in str(error)
        assert ".pack" in of_a_task.value.message
        assert of_a_task.value.where.group == "words"
        assert Counter(bench.records(TOTALS)) == expected_totals(so_far)

        proxy.heal()
        bench.run(counting(), state=state)
    everything = [*so_far, *THIRD]
    assert Counter(bench.records(TOTALS)) == expected_totals(everything)
    with View(bench.checkpoint, COUNTS, log=bucket.settings(log.prefix)) as view:
        assert dict(view.items()) == Counter(key for key, _ in everything)


def test_app_on_s3_is_viewed_forked_upgraded_rebuilt_and_reset(
    bench: Bench, bucket: Bucket
) -> None:
    """The state is only on S3, with another app on the same prefix."""
    prefix = f"epoch-{uuid.uuid4().hex[:8]}"
    log = bucket.settings(prefix)
    state = RocksDB(directory=str(bench.home / "local"), log=log)
    logged = counting(LoggedCount, store=LOGGED)
    changelog = Topic("counts-log", TEXT, INT64)
    bench.create(WORDS, TOTALS, changelog)
    bench.emit(changelog, [("stale", 9)])  # of an earlier epoch
    with bench.app(logged, state=state) as app:
        app.open()
        bench.emit(WORDS, FIRST)
        app.drain(timeout=timedelta(seconds=90))
        with View(app, LOGGED) as view:
            assert dict(view.items()) == Counter(key for key, _ in FIRST)
            first = view.version
            found = Checkpoint.load(home_of(bench.checkpoint))
            Savepoints(found, log.open()).create("first", SystemClock())
            bench.emit(WORDS, SECOND)
            app.drain(timeout=timedelta(seconds=90))
            assert dict(view.items()) == Counter(key for key, _ in [*FIRST, *SECOND])
    for as_of in (first, "first"):
        with View(bench.checkpoint, COUNTS, log=log, as_of=as_of) as view:
            assert dict(view.items()) == Counter(key for key, _ in FIRST)

    # The changelog has each change once, in the order of batches.
    changes = [change for change in bench.records(changelog) if change != ("stale", 9)]
    counts = Counter(key for key, _ in FIRST), Counter(key for key, _ in [*FIRST, *SECOND])
    assert Counter(changes) == Counter(
        [*counts[0].items(), *((key, counts[1][key]) for key in {k for k, _ in SECOND})]
    )
    assert last_values(changes) == counts[1]

    # A fork of the savepoint with an upgrade: half counts for the records that follow.
    bench.run(
        counting(HalfCount, store=HALVES, totals=Topic("fork-totals", TEXT, INT64)),
        state=state,
        app_id="fork",
        checkpoint=bench.home / "fork",
        fork=ForkSource(bench.checkpoint, "first", log=log),
        migrate={"counts": Migration(COUNTS, lambda key, value: value / 2)},
    )
    with View(bench.home / "fork", HALVES, log=log) as forked:
        assert dict(forked.items()) == {key: n / 2 for key, n in counts[1].items()}

    # All objects of the original's state are lost; its changelog restores the store.
    commit = Checkpoint.load(home_of(bench.checkpoint)).commits("words", log.open()).last()
    assert commit is not None
    log.open().delete(ref.name for p in commit.pointers().values() for ref in p.objects())
    shutil.rmtree(bench.home / "local")
    job = ChangelogRestore(
        Checkpoint.load(home_of(bench.checkpoint)),
        logged,
        bench.connection,
        Memory(),
        log.open(),
        "run",
    )
    job.run_all(job.stores(), lambda rebuilt: None)
    bench.emit(WORDS, THIRD)
    bench.run(logged, state=state)
    everything = [*FIRST, *SECOND, *THIRD]
    assert Counter(bench.records(TOTALS)) == expected_totals(everything)
    with View(bench.checkpoint, COUNTS, log=log) as view:
        assert dict(view.items()) == Counter(key for key, _ in everything)

    # A reset removes the app's objects, and none of the fork.
    forks = [key for key in bucket.keys(f"{prefix}/") if "fork." in key]
    removed = reset("counting", checkpoint=bench.checkpoint, state=state)
    assert removed.objects > 0
    assert removed.savepoints == ("first",)
    assert bucket.keys(f"{prefix}/") == sorted([f"{prefix}/.kstreams", *forks])
    with View(bench.home / "fork", HALVES, log=log) as forked:
        assert forked.get("the") == counts[1]["the"] / 2
