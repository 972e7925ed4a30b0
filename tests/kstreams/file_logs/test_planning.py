"""How often a log is asked, and how its batches are planned."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from kstreams import TEXT, TopologyBuilder
from kstreams.batch.no_topics import NO_TOPICS
from kstreams.batch.open_feed import feed_of
from kstreams.sinks import CommitId, Results, to_batches
from kstreams.sources import Lines, folder


def nothing(_results: Results[None, str], _commit: CommitId) -> None:
    """Take results nowhere."""


def test_a_log_is_looked_at_as_often_as_it_says(tmp_path: Path) -> None:
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
