"""Several sinks of one query on Spark Connect, where functions run outside of the client."""

from __future__ import annotations

import threading

import pytest

from kstreams.errors import CompileError
from kstreams.frames import transform_frames, write_each
from tests.support.spark.file_streams import Streams
from tests.support.spark.two_sinks_query import fail_between_the_sinks
from tests.support.topologies.frame_topologies import COUNTS, LINES, word_count

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.long
def test_write_each_to_two_sinks_on_connect_computes_batch_once_and_loses_nothing(
    streams: Streams,
) -> None:
    fail_between_the_sinks(streams)


def test_function_that_cannot_be_sent_to_server_is_rejected(streams: Streams) -> None:
    lock, lines = threading.Lock(), streams.stream(LINES)
    results = transform_frames(
        word_count(), {LINES: lines}, state=streams.state, tasks=2, packages=()
    )
    with pytest.raises(CompileError, match="function of write_each cannot be sent"):
        write_each(results, {COUNTS: lambda frame, batch: lock.release()})
