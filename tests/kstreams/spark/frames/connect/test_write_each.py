"""Several sinks of one query on Spark Connect, where functions run apart from the query."""

from __future__ import annotations

import threading

import pytest

from kstreams.errors import CompileError
from kstreams.frames import transform_frames, write_each
from tests.kstreams.spark.frames.streams import Streams
from tests.kstreams.spark.frames.topologies import COUNTS, LINES, word_count
from tests.kstreams.spark.frames.two_sinks import fail_between_the_sinks

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_two_sinks_are_computed_once_and_lose_nothing(streams: Streams) -> None:
    fail_between_the_sinks(streams)


def test_a_function_that_does_not_go_to_the_server_is_refused(streams: Streams) -> None:
    lock, lines = threading.Lock(), streams.stream(LINES)
    results = transform_frames(
        word_count(), {LINES: lines}, state=streams.state, tasks=2, packages=()
    )
    with pytest.raises(CompileError, match="function of write_each cannot be sent"):
        write_each(results, {COUNTS: lambda frame, batch: lock.release()})
