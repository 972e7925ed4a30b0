"""`NodeSampler` measures the time of nodes from another thread."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from kstreams.task.failures.user_errors import Places
from kstreams.task.node_sampler import NO_NODE, NodeSampler
from kstreams.task.output.outputs import TaskOutput


class Seen:
    """Counts samples of its thread."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.looks = threading.Semaphore(0)

    def __call__(self, frame: FrameType) -> str | None:
        found = self.places.node_running(frame)
        self.looks.release()
        return found


def test_time_is_attributed_to_innermost_node() -> None:
    places = Places()
    seen = Seen(places)

    def inner() -> None:
        for _ in range(3):
            seen.looks.acquire()

    def outer() -> None:
        seen.looks.acquire()
        inner()

    places.add("inner", inner)
    places.add("outer", outer)

    def task() -> TaskOutput:
        seen.looks.acquire()
        outer()
        return TaskOutput()

    found = NodeSampler(200).run(seen, task).nodes_us
    assert set(found) >= {"inner", "outer", NO_NODE}
    assert found["inner"] > 0


def test_sampler_stops_sampling_a_failed_task() -> None:
    sampler = NodeSampler(1_000)

    def fails() -> TaskOutput:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        sampler.run(lambda _: None, fails)
    assert not sampler._watched


def test_sampler_thread_ends_when_no_task_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kstreams.task.node_sampler._IDLE_S", 0.0)
    sampler = NodeSampler(1_000)
    sampler.run(lambda _: None, TaskOutput)
    threads = [t for t in threading.enumerate() if t.name == "kstreams-sampler"]
    for thread in threads:
        thread.join(5)
    assert not sampler._runs


def test_sample_keeps_no_reference_to_sampled_objects() -> None:
    """References would delay the release of large batches until a garbage collection."""
    seen = Seen(Places())

    def task() -> TaskOutput:
        def holding() -> weakref.ref[threading.Event]:
            held = threading.Event()  # in place of a table
            for _ in range(3):
                seen.looks.acquire()
            return weakref.ref(held)

        gone = holding()
        for _ in range(2):
            seen.looks.acquire()
        assert gone() is None
        return TaskOutput()

    with _no_collections():
        NodeSampler(1_000).run(seen, task)


@contextmanager
def _no_collections() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
