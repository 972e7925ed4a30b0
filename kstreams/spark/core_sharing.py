"""Ends the workers of a session while other Spark jobs of the session wait for cores."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from kstreams.spark.failure import typed
from kstreams.workers.pool import WorkerPool

if TYPE_CHECKING:
    from pyspark import SparkContext, StatusTracker

__all__ = ("sharing_cores",)

_LOG = logging.getLogger(__name__)
_INTERVAL_S = 0.1
_IDLE_S = 60.0
"""The time without batches after which workers end, so that a cluster can remove executors."""


@contextmanager
def sharing_cores(context: SparkContext, group: str, pool: WorkerPool) -> Iterator[None]:
    """Watch the jobs of a session in a thread; end a pool's workers if other jobs wait for cores.

    Spark's scheduler gives the cores to the waiting job first, because it is older than the job
    that later starts the workers again. The workers also end after a minute without batches. If the
    JVM ends, current and later batches fail.

    Args:
        context: The Spark context whose jobs are observed.
        group: The job group of the workers' own jobs, which do not count as waiting.
        pool: The pool whose workers are ended.
    """
    ended = threading.Event()
    thread = threading.Thread(
        target=_watch, args=(context, group, pool, ended), name="core-sharing", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(context: SparkContext, group: str, pool: WorkerPool, ended: threading.Event) -> None:
    tracker = context.statusTracker()
    while not ended.wait(_INTERVAL_S):
        try:
            if not pool.members.is_empty and (
                pool.idle_s > _IDLE_S or _others_wait(tracker, group)
            ):
                _LOG.debug("the workers release their cores")
                pool.members.release()
        except (Py4JError, ConnectionError) as exc:
            pool.fail(typed(exc))
            return


def _others_wait(tracker: StatusTracker, group: str) -> bool:
    """Return whether a stage of another job has tasks that have not started."""
    active = tracker.getActiveStageIds()
    if len(active) < 2:
        return False
    own: set[int] = set()
    for job in tracker.getJobIdsForGroup(group):
        found = tracker.getJobInfo(job)
        own.update(found.stageIds if found is not None else ())
    for stage in set(active) - own:
        info = tracker.getStageInfo(stage)
        if info is not None and info.numTasks > (
            info.numActiveTasks + info.numCompletedTasks + info.numFailedTasks
        ):
            return True
    return False
