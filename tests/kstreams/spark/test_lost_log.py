"""An app on Spark with a changed log, checkpoint or description, or those of an older version."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kstreams import View
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.resume import resume
from kstreams.checkpoint.savepoint.fork import ForkSource, fork
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import LogMismatchError, StateCorruptError
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from tests.support.spark.bench import (
    COUNTS,
    TOTALS,
    WORDS,
    Bench,
    counting,
    expected_totals,
)

pytestmark = pytest.mark.spark

OLDER = Path(__file__).parent / "data" / "format_3"
"""Files written by an app before checksums: six batches of k0 to k9."""
KEYS = [(f"k{number}", "w") for number in range(10)]


class Older:
    """A bench on a copy of the older app's topics and checkpoint."""

    def __init__(self, home: Path, spark: SparkSession) -> None:
        shutil.copytree(OLDER, home, dirs_exist_ok=True)
        for topic, count in ((WORDS.name, 2), (TOTALS.name, 4)):
            for partition in range(count):  # git does not keep empty directories
                for part in (str(partition), f".staged/{partition}"):
                    (home / "topics" / topic / part).mkdir(parents=True, exist_ok=True)
        self.bench = Bench(home, spark)
        self.state = home / "checkpoint" / "state"
        self.query = home / "checkpoint" / "queries" / "words"

    @property
    def commits(self) -> list[Path]:
        return sorted(self.state.glob("commits/*/0*.json"))


@pytest.fixture
def older(tmp_path: Path, spark: SparkSession) -> Any:
    made = Older(tmp_path, spark)
    yield made
    made.bench.close()


def check(bench: Bench, rounds: int) -> None:
    """Check that the records of all rounds were counted once."""
    assert bench.store(counting(), COUNTS) == Counter({key: rounds for key, _ in KEYS})
    assert Counter(bench.records(TOTALS)) == expected_totals(KEYS * rounds)


def test_checkpoint_without_checksums_is_adopted_and_continued(older: Older) -> None:
    bench = older.bench
    bench.emit(WORDS, KEYS)
    bench.run(counting())
    check(bench, 7)
    found = Checkpoint.load(home_of(bench.checkpoint))
    assert set(found.begun) == set(found.queries)
    assert '"format": 4' in (bench.checkpoint / "app.json").read_text()
    bench.emit(WORDS, KEYS)
    bench.run(counting())
    check(bench, 8)
    last = bench.last_commit(counting())
    assert last.after == bench.commits(counting()).recent(2)[0].id
    fork(ForkSource(bench.checkpoint, "kept"), bench.home / "fork", "forked")
    with View(bench.home / "fork", COUNTS) as view:
        assert dict(view.items()) == {key: 3 for key, _ in KEYS}


def log_gone(older: Older) -> None:
    shutil.rmtree(older.state)


def last_commit_gone(older: Older) -> None:
    older.commits[-1].unlink()


def last_commits_gone(older: Older) -> None:
    for commit in older.commits[-3:]:
        commit.unlink()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (log_gone, "the commit of batch 4 is missing, although the batch was committed"),
        (last_commit_gone, "batch 5 is recorded as completed"),
        (last_commits_gone, "the commit of batch 4 is missing, although the batch was committed"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_damage_in_checkpoint_without_checksums_is_found_before_adoption(
    older: Older, damage: Callable[[Older], None], problem: str
) -> None:
    damage(older)
    before = (older.bench.checkpoint / "app.json").read_text()
    with pytest.raises(LogMismatchError, match=problem):
        older.bench.run(counting())
    assert (older.bench.checkpoint / "app.json").read_text() == before


def test_app_whose_log_or_description_is_missing_is_rejected(bench: Bench) -> None:
    bench.create(WORDS)
    with bench.app(counting()) as app:
        app.open()
        for _ in range(6):
            bench.emit(WORDS, KEYS)
            app.drain()
    bench.emit(WORDS, KEYS)
    elsewhere = Memory(log=Directory(str(bench.home / "elsewhere")))
    with pytest.raises(LogMismatchError, match="it is empty, but not"):
        bench.run(counting(), state=elsewhere)
    state, description = bench.checkpoint / "state", bench.checkpoint / "app.json"
    state.rename(bench.home / "state")
    with pytest.raises(LogMismatchError, match="it is empty, but not") as caught:
        bench.run(counting())
    assert caught.value.where.app == "counting"
    (bench.home / "state").rename(state)
    description.rename(bench.home / "app.json")
    with pytest.raises(
        StateCorruptError, match=r"neither a checkpoint nor empty: it has .*queries"
    ):
        bench.run(counting())
    with pytest.raises(
        StateCorruptError, match=r"neither a checkpoint nor empty: it has .*queries"
    ):
        bench.run(counting(), fork=f"{bench.checkpoint}@any")
    (bench.home / "app.json").rename(description)
    shutil.rmtree(bench.checkpoint / "queries" / "words" / "done")
    bench.run(counting())
    check(bench, 7)
    found = Checkpoint.load(home_of(bench.checkpoint))
    assert resume(found, "words", found.log.open()).pending is None
