"""Several sinks of one query on Spark Connect, where functions run outside of the client."""

from __future__ import annotations

import threading

import pytest

from kstreams.errors import CompileError
from kstreams.frames import transform_frames, write_each
from tests.kstreams.spark.frames.streams import Streams
from tests.kstreams.spark.frames.topologies import COUNTS, LINES, word_count
from tests.kstreams.spark.frames.two_sinks import fail_between_the_sinks

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_two_sinks_are_computed_once_without_loss(streams: Streams) -> None:
    fail_between_the_sinks(streams)


def test_function_that_cannot_be_sent_to_server_is_rejected(streams: Streams) -> None:
    lock, lines = threading.Lock(), streams.stream(LINES)
    results = transform_frames(
        word_count(), {LINES: lines}, state=streams.state, tasks=2, packages=()
    )
    with pytest.raises(CompileError, match="function of write_each cannot be sent"):
        write_each(results, {COUNTS: lambda frame, batch: lock.release()})
