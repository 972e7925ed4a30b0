"""Spark jobs whose tasks run several batches, so that a small batch needs no separate job."""

from __future__ import annotations

import logging
import pickle
import queue
import selectors
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any, NoReturn

from pyspark import InheritableThread

from kstreams.batch.worker.stage_run import Message
from kstreams.errors import ExecutionError
from kstreams.scratch import scratch_directory
from kstreams.spark.pinned_workers import PinnedWorkers
from kstreams.spark.stage import Turn, Turns

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

__all__ = ("StandingJob", "Work")

Work = Callable[[Turns], None]
"""A function that runs batch after batch in a worker; its exception fails the job."""

_LOG = logging.getLogger(__name__)
_LASTS_S = 0.5
_LOOK_S = 0.02
"""The poll interval for job completion while no worker sends anything."""
_ROOM_S = 0.3
"""The grace period before idle workers are released to free cores."""
_SOCKET = "turns"
_LEFT = (OSError, EOFError, pickle.UnpicklingError)
"""Exceptions after the other end of a connection is gone."""


class StandingJob:
    """Runs the batches of one stage in jobs of half a second with many batches each.

    Spark needs about 25 ms to start and end any job. So the tasks of a job keep running, and the
    driver sends batches to them over a Unix socket in a private folder. After half a second the
    tasks end and another job starts, so that other users of this Spark get its cores.

    Spark retries a failed task as usual; then the job fails, and the batch raises the error of the
    job.

    Args:
        spark: The context; its executor is the driver process.
        work: The function of the workers, until there are no more batches
            (`Stage.batch_after_batch`).
        workers: The workers of the context.
        width: The number of workers: at most as many tasks as Spark can run at the same time.

    Raises:
        OSError: The socket cannot be created.
    """

    def __init__(self, spark: SparkContext, work: Work, workers: PinnedWorkers, width: int) -> None:
        self._spark = spark
        self._width = width
        with ExitStack() as opened:
            path = str(opened.enter_context(scratch_directory()) / _SOCKET)
            self._listener = opened.enter_context(socket.socket(socket.AF_UNIX))
            self._listener.bind(path)
            self._listener.listen(width)
            self._listener.setblocking(False)
            self._scratch = opened.pop_all()
        numbers = {number: (number,) for number in range(width)}
        self._tasks = workers.run(numbers, partial(_stand, work, path), width=width)
        self._thread: _JobThread | None = None
        self._job: Future[None] | None = None
        self._links: dict[int, _Link] = {}
        self._until = 0.0

    def run(self, batch: str, turn: Turn, parts: Mapping[int, Sequence[Message]]) -> list[Message]:
        """Run a batch, and return the results of its tasks.

        Args:
            batch: The name of the batch for Spark's web pages.
            turn: The part of the batch for all workers.
            parts: The messages to tasks, by worker; a worker without messages is skipped.

        Raises:
            Exception: The job failed, and the batch with it.
        """
        if self._job is None:
            self._begin(f"{batch} and later")
        said = self._answers(turn, dict(parts))
        if time.monotonic() > self._until:
            self._dismiss()
            self._begin(f"after {batch}")  # concurrently with this batch's commit and the next plan
        return said

    def rest(self) -> None:
        """Stop the job, if there is one, and wait for its end; a later batch starts a new job."""
        try:
            self._join()
        except Exception:  # noqa: BLE001  # with no batch, so nothing was lost
            _LOG.warning("workers have failed between two batches", exc_info=True)

    def close(self) -> None:
        """End the job, wait for its end, and release all resources; no batch may follow."""
        self.rest()
        if self._thread is not None:
            self._thread.end()
        self._scratch.close()

    def _begin(self, name: str) -> None:
        """Start a job, which begins when the previous job has ended."""
        if self._thread is None:
            self._thread = _JobThread(self._spark, self._tasks)
        self._job = self._thread.begin(name)
        self._until = time.monotonic() + _LASTS_S

    def _answers(self, turn: Turn, left: dict[int, Sequence[Message]]) -> list[Message]:
        """Run a batch on the workers; return their results in the order of completion.

        A worker that leaves reconnects if Spark retries its task, and gets the batch again;
        otherwise the job ends.
        """
        said: list[Message] = []
        began = time.monotonic()
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ)
            for number in self._links:
                self._ask(number, turn, left, ready)
            while left:
                found = ready.select(_LOOK_S)
                if not found and (self._job is None or self._job.done()):
                    self._fail()
                if not found and time.monotonic() - began > _ROOM_S:
                    for link in self._idle(left):
                        ready.unregister(link.socket)
                        link.close()
                for key, _ in found:
                    if key.fileobj is self._listener:
                        self._ask(self._come(), turn, left, ready)
                        continue
                    number, link = key.data
                    try:
                        said += link.take()
                        del left[number]
                    except _LEFT:
                        ready.unregister(link.socket)
                        link.close()
                        if self._links.get(number) is link:
                            del self._links[number]
        return said

    def _idle(self, left: Mapping[int, Sequence[Message]]) -> list[_Link]:
        """Give up idle workers if other workers wait for cores; return the links of idle ones."""
        if left.keys() <= self._links.keys():
            return []
        self._until = 0.0
        idle = [number for number in self._links if number not in left]
        return [self._links.pop(number) for number in idle]

    def _come(self) -> int | None:
        """Accept the connection of a worker; return its number, or None if it disconnected."""
        link = _Link(self._listener.accept()[0])
        try:
            number: int = link.take()
        except _LEFT:
            link.close()
            return None
        self._links[number] = link
        return number

    def _ask(
        self,
        number: int | None,
        turn: Turn,
        left: Mapping[int, Sequence[Message]],
        ready: selectors.BaseSelector,
    ) -> None:
        """Send a worker its messages of a batch, if there are any, and watch its connection."""
        if number is None:
            return
        link = self._links[number]
        ready.register(link.socket, selectors.EVENT_READ, (number, link))
        if number in left:
            with suppress(*_LEFT):  # it will be seen that it has
                link.give((turn, left[number]))

    def _join(self) -> None:
        """End the job, if there is one, and raise its exception."""
        self._dismiss()
        job, self._job = self._job, None
        if job is None:
            return
        while not wait([job], _LOOK_S).done:
            with suppress(BlockingIOError):  # a task that Spark tries again has nothing to do
                self._listener.accept()[0].close()
        job.result()

    def _dismiss(self) -> None:
        """Close the connections of all workers, which ends their tasks."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _fail(self) -> NoReturn:
        """Raise the error that made the job fail."""
        self._join()
        raise ExecutionError(
            "a worker closed its connection to the driver, but no task of its Spark job failed"
        )


class _JobThread:
    """Runs jobs one after another in a thread, with the Spark properties of the creating thread."""

    def __init__(self, spark: SparkContext, tasks: RDD[Any]) -> None:
        self._spark = spark
        self._tasks = tasks
        self._begun: queue.SimpleQueue[tuple[str, Future[None]] | None] = queue.SimpleQueue()
        self._thread = InheritableThread(target=self._run, name="standing-job", daemon=True)
        self._thread.start()

    def begin(self, name: str) -> Future[None]:
        """Start a job once earlier jobs have ended; return a future that completes when it ends.

        Spark's web pages show the name.
        """
        job: Future[None] = Future()
        self._begun.put((name, job))
        return job

    def end(self) -> None:
        """End the thread after its last job."""
        self._begun.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (begun := self._begun.get()) is not None:
            name, job = begun
            try:
                self._spark.setJobDescription(name)
                self._tasks.collect()
            except BaseException as exc:  # noqa: BLE001  # `wait` raises it
                job.set_exception(exc)
            else:
                job.set_result(None)


class _Link:
    """One end of a connection between the driver and a worker, which transfers objects."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self._in: IO[bytes] = connected.makefile("rb")
        self._out: IO[bytes] = connected.makefile("wb")

    def give(self, found: object) -> None:
        pickle.dump(found, self._out, pickle.HIGHEST_PROTOCOL)
        self._out.flush()

    def take(self) -> Any:  # noqa: ANN401  # any object
        """Return the next object; `EOFError` if there is none."""
        return pickle.load(self._in)  # noqa: S301  # this user's own processes

    def close(self) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        for each in (self._in, self._out, self.socket):
            with suppress(OSError):
                each.close()


@dataclass(frozen=True)
class _DriverTurns:
    """The batches that a worker receives over a link."""

    link: _Link

    def next(self) -> tuple[Turn, Sequence[Message]] | None:
        try:
            found: tuple[Turn, Sequence[Message]] = self.link.take()
        except _LEFT:  # no more; or the driver is dead
            return None
        return found

    def answer(self, messages: Sequence[Message]) -> None:
        with suppress(*_LEFT):  # another worker has failed, and the batch with it
            self.link.give(messages)


def _stand(work: Work, path: str, numbers: Iterable[int]) -> Iterator[Message]:
    """Run batch after batch, in a worker."""
    with socket.socket(socket.AF_UNIX) as connected:
        connected.connect(path)
        link = _Link(connected)
        try:
            link.give(*numbers)
            work(_DriverTurns(link))
        finally:
            link.close()
    return iter(())
