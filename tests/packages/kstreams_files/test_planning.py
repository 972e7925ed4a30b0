"""Listing of the files of a log at an interval, and planning of its batches."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kstreams import NONE, TEXT, Embedded, Emitter, Topic, TopologyBuilder
from kstreams.batch.io.logs.topic_io import close_readers
from kstreams.batch.io.no_topics import NO_TOPICS
from kstreams.batch.io.open_feed import feed_of
from kstreams.raw_batch import TooManyBytesError
from kstreams.sinks import CommitId, Results, to_batches
from kstreams.sources import Lines, folder


def nothing(_results: Results[None, str], _commit: CommitId) -> None:
    """Discard the results."""


def test_folder_is_listed_at_given_interval(tmp_path: Path) -> None:
    for every, seen in ((timedelta(0), 2), (timedelta(hours=1), 1)):
        place = tmp_path / str(seen)
        place.mkdir()
        builder = TopologyBuilder("files")
        log = folder("lines", place, Lines(TEXT), look_every=every)
        builder.add_sink("out", to_batches(nothing), builder.add_source("read", log))
        feed = feed_of(NO_TOPICS, builder.build().sources)
        (place / "a").write_text("one\n")
        assert feed.known_ends("lines").offsets == {0: 1}
        (place / "b").write_text("two\n")
        assert feed.known_ends("lines").offsets == {0: seen}
        assert feed.admin.ends("lines").offsets == {0: 2}
        assert feed.known_ends("lines").offsets == {0: 2}
        feed.close()


def test_plan_keeps_order_of_slices_of_topics_and_logs(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b").write_text("three\n")
    topics = Embedded(tmp_path / ".topics", default_partitions=1)
    words = Topic("words", key=NONE, value=TEXT)
    with Emitter(words, topics) as emitter:
        emitter.emit_many([(None, "four"), (None, "five")])
    builder = TopologyBuilder("both")
    read = builder.add_source("read", folder("lines", tmp_path, Lines(TEXT)))
    builder.add_sink("out", to_batches(nothing), read, builder.add_source("words", words))
    feed = feed_of(topics, builder.build().sources)
    assert [feed.admin.partition_count(name) for name in ("lines", "words")] == [1, 1]
    lines, word = builder.build().sources
    first, second = feed.slices(lines, 0, 0, 3)
    (third,) = feed.slices(word, 0, 0, 2)
    slices = [first, third, second]
    queues = feed.io.read(slices)
    values = [queue.table.column("value").to_pylist() for queue in queues]
    assert values == [[b"one", b"two"], [b"four", b"five"], [b"three"]]
    size = queues[1].table.nbytes
    with pytest.raises(TooManyBytesError) as refused:
        feed.io.read(slices, max_bytes=size)
    assert refused.value.sizes[third.topic_partition] == (2, size)
    assert feed.io.read([second], max_bytes=0)[0].table.num_rows == 1
    close_readers(["lines"])
    feed.close()
