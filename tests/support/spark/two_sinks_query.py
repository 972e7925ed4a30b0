"""Two sinks of one query by `write_each`, with an action between their writes.

`two_sinks.py HOME` runs the query in a process that dies between the writes.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kstreams import Record
from kstreams.frames import transform_frames, write_each
from tests.kstreams.spark.frames.test_transform import on_driver
from tests.support.spark.file_streams import SETTINGS, Row, Streams, rows_of
from tests.support.topologies.frame_topologies import COUNTS, LINES, WORDS, word_count

__all__ = ("BATCHES", "EXPECTED", "block", "fail_between_the_sinks", "found", "started")

BATCHES = [[Record(b"%d" % n, f"a b c{n}", 10 * n)] for n in range(3)]
EXPECTED = on_driver(word_count(), LINES, BATCHES, [WORDS, COUNTS])


@dataclass(frozen=True)
class _Write:
    """Writes the rows of a topic in a batch to a folder of the batch."""

    folder: Path

    def __call__(self, frame: DataFrame, batch: int) -> None:
        frame.write.mode("overwrite").parquet(str(self.folder / f"batch={batch}"))


@dataclass(frozen=True)
class _Between:
    """Writes like `_Write`; in batch 1 first runs an action, once.

    The action leaves a file as a mark.
    """

    folder: Path
    reached: Path
    action: Callable[[], object]

    def __call__(self, frame: DataFrame, batch: int) -> None:
        if batch == 1 and not self.reached.exists():
            self.reached.touch()
            self.action()
        _Write(self.folder)(frame, batch)


def started(streams: Streams, action: Callable[[], object]) -> StreamingQuery:
    """Start the word count on the lines of a home directory; counts are written after words.

    Args:
        streams: The directories of the query.
        action: The action in batch 1 between the writes of words and counts.
    """
    home = streams.home
    topology, lines = word_count(log=home / "seen"), streams.stream(LINES)
    results = transform_frames(topology, {LINES: lines}, state=streams.state, tasks=2, packages=())
    words = _Write(home / "each-words")
    counts = _Between(home / "each-counts", home / "reached", action)
    return (
        write_each(results, {WORDS: words, COUNTS: counts})
        .option("checkpointLocation", str(home / "each-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def found(streams: Streams) -> dict[str, list[Row]]:
    """Return the rows in the sinks."""
    read = streams.session.read.parquet
    return {
        topic.name: rows_of(read(str(streams.home / f"each-{topic.name}")), topic)
        for topic in (WORDS, COUNTS)
    }


def fail() -> None:
    raise ConnectionError("the second sink is unavailable")


def block() -> None:
    time.sleep(600)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail_between_the_sinks(streams: Streams) -> StreamingQuery:
    """Run to the end with one failure; check both sinks and the number of task runs."""
    for batch in BATCHES:
        streams.write(LINES, batch)
    with pytest.raises(PySparkException, match="second sink is unavailable"):
        started(streams, fail).awaitTermination()
    assert (streams.home / "each-words/batch=1").exists()
    assert not (streams.home / "each-counts/batch=1").exists()
    query = started(streams, fail)
    query.awaitTermination()
    assert found(streams) == EXPECTED
    # A batch of two sinks is computed once, and once more if it is retried.
    assert (streams.home / "seen").read_text().split() == ["0", "1", "1", "2"]
    return query


def main() -> None:
    """Run the query on a home; this process dies between the sinks of batch 1."""
    making = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in SETTINGS.items():
        making = making.config(name, value)
    started(Streams(Path(sys.argv[1]), making.getOrCreate()), die).awaitTermination()


if __name__ == "__main__":
    main()
