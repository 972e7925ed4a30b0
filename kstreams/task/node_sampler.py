"""The CPU time of a task's nodes, sampled from another thread several times a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType

from kstreams.task.output.outputs import TaskOutput

__all__ = ("NO_NODE", "NodeSampler", "sampled")

NO_NODE = ""
"""The name for work outside of nodes: decoding, merging, encoding."""

_IDLE_S = 0.5


class NodeSampler:
    """Samples the frames of tasks' threads while they run.

    Clocks around each call would cost more than small nodes do (0.24 to 0.6 us a call); sampling
    frames a few times a second has the same cost for all topologies. A sample counts for the time
    since the previous one: too little or too much for a short batch, but correct over many batches.

    The sampling thread continues between batches, so that samples are not aligned with batches, and
    ends when no task has run for a while.

    Args:
        hz: The number of samples per second.
    """

    def __init__(self, hz: int) -> None:
        self._pause = 1 / hz
        self._mutex = threading.Lock()
        self._watched: dict[int, tuple[Callable[[FrameType], str | None], dict[str, float]]] = {}
        self._runs = False

    def run(
        self, node_of: Callable[[FrameType], str | None], task: Callable[[], TaskOutput]
    ) -> TaskOutput:
        """Run a task in this thread, and add the sampled time of its nodes to its output.

        Args:
            node_of: Returns the node that a thread runs, given the thread's innermost frame.
            task: Runs the task.
        """
        seen: dict[str, float] = {}
        own = threading.get_ident()
        with self._mutex:
            self._watched[own] = node_of, seen
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._look, name="kstreams-sampler", daemon=True).start()
        try:
            output = task()
        finally:
            with self._mutex:
                del self._watched[own]
        output.nodes_us = {node: int(seconds * 1e6) for node, seconds in sorted(seen.items())}
        return output

    def _look(self) -> None:
        """Sample the threads of running tasks repeatedly, until no task has run for a while."""
        last = busy = time.perf_counter()
        while True:
            time.sleep(self._pause)
            with self._mutex:
                now = time.perf_counter()
                if self._watched:
                    busy = now
                    self._note(now - last)
                elif now - busy > _IDLE_S:
                    self._runs = False
                    return
                last = now

    def _note(self, seconds: float) -> None:
        for ident, (node_of, seen) in self._watched.items():
            # There is no other way to other threads. All frames in a name would be a circle, as
            # this one is among them, and keep what tasks hold until a garbage collection.
            frame = sys._current_frames().get(ident)
            if frame is not None:
                node = node_of(frame) or NO_NODE
                seen[node] = seen.get(node, 0.0) + seconds


def sampled(
    sampler: NodeSampler | None,
    node_of: Callable[[FrameType], str | None],
    task: Callable[[], TaskOutput],
) -> Callable[[], TaskOutput]:
    """Return a function that runs a task with a sampler, if there is one; see `NodeSampler.run`."""
    return task if sampler is None else partial(sampler.run, node_of, task)
