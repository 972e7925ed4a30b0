"""Views of the state of a query on DataFrames show committed batches only."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kstreams import View
from kstreams.errors import CheckpointMismatchError, NoCheckpointError, StoreError
from kstreams.frames import FrameState
from tests.support.spark.file_streams import Streams
from tests.support.spark.two_sinks_query import BATCHES, fail, started
from tests.support.topologies.frame_topologies import LINES, TOTALS, joined_count, word_count

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def check_views(streams: Streams) -> None:
    """Check views of a query's state: after a crash in its second batch, and after its end."""
    for batch in BATCHES:
        streams.write(LINES, batch)
    checkpoint = str(streams.home / "each-checkpoint")
    log = streams.state.log
    assert log is not None
    with pytest.raises(PySparkException, match="second sink is unavailable"):
        started(streams, fail).awaitTermination()
    state = FrameState(streams.session, checkpoint, word_count(), log)
    with View(state, TOTALS) as view:
        # Tasks have finished batch 1, and one sink has written it.
        assert (view.version, view.versions()) == (0, [0])
        first = {"a": (1, 0), "b": (1, 0), "c0": (1, 0)}
        assert {key: tuple(found) for key, found in view.items()} == first
        started(streams, fail).awaitTermination()
        assert tuple(view.get("a") or ()) == (3, 20)
        assert view.version == 2
        assert view.get("none") is None
        with View(state, TOTALS, as_of=0) as older:
            assert {key: tuple(found) for key, found in older.items()} == first
        with pytest.raises(StoreError, match="Spark cannot read the state"):
            View(state, TOTALS, as_of=9)
        with pytest.raises(StoreError, match="has no savepoints"):
            View(state, TOTALS, as_of="before")


@pytest.mark.long
def test_view_shows_committed_batches_only(tmp_path: Path, stream_session: SparkSession) -> None:
    streams = Streams(tmp_path, stream_session)
    check_views(streams)
    log = streams.state.log
    assert log is not None
    other = joined_count()
    missing = FrameState(stream_session, str(tmp_path / "nowhere"), word_count(), log)
    with pytest.raises(NoCheckpointError, match="finds no state of a query"):
        View(missing, TOTALS)
    wrong = FrameState(stream_session, str(tmp_path / "each-checkpoint"), other, log)
    with pytest.raises(CheckpointMismatchError, match="belongs to another topology"):
        View(wrong, next(iter(other.stores)))
