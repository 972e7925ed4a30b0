"""Batches in a thread of their own, beside what Spark does between two of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark import InheritableThread

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ("BatchTurns",)

_AHEAD = 8
"""Batches that run before Spark begins them, at most: a small one is done before Spark's notes."""

_OF_ONE_BATCH = ("spark.sql.execution.id", "spark.sql.execution.root.id", "streaming.sql.batchId")
"""What a job inherits of the batch in which the thread began, and is not true of later ones."""


class BatchTurns:
    """Runs the batches that Spark begins, one after the other, without waiting for it.

    Between two batches Spark notes the one as done and plans the other, which no batch needs that
    reads topics by a plan of ours. So when one is done the next runs at once, beside that: a few
    may, before Spark has come so far. What Spark has noted as done was done; what was done it
    may have noted not yet, `_AHEAD` and one more batches at most.

    Args:
        run: Runs, in a context, the batch that Spark begins under a number; returns False if there
            is none, as the query is to stop. Called in one thread, whose jobs are of Spark's query;
            what it raises ends the turns.
        name: The thread's.
    """

    def __init__(self, run: Callable[[SparkContext, int], bool], name: str) -> None:
        self._run = run
        self._name = name
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._begun = -1
        self._done = -1
        self._over = False
        self._error: BaseException | None = None

    def done(self, begun: int, spark: SparkContext) -> bool:
        """Wait until a batch is done that Spark begins; return False if it will not be.

        To be called in the thread in which Spark begins it.

        Args:
            begun: Its number by Spark, one after the other.
            spark: The context.

        Raises:
            Exception: What `run` has raised, of this batch.
        """
        with self._changed:
            self._begun = begun
            if self._thread is None:
                self._thread = InheritableThread(
                    target=lambda: self._take_turns(begun, spark), name=self._name, daemon=True
                )
                self._thread.start()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._done >= begun or self._over)
            if self._done >= begun:
                return True
        if self._error is not None:
            raise self._error
        return False

    def end(self) -> None:
        """Begin no batch any more, and wait for the one under way."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _take_turns(self, number: int, spark: SparkContext) -> None:
        try:
            for name in _OF_ONE_BATCH:
                spark.setLocalProperty(name, None)  # type: ignore[arg-type]  # removes it
            while self._is_next(number) and self._run(spark, number):
                with self._changed:
                    self._done = number
                    self._changed.notify_all()
                number += 1
        except BaseException as exc:  # noqa: BLE001  # raised where Spark waits
            self._error = exc
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def _is_next(self, number: int) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: number <= self._begun + _AHEAD or self._over)
            return not self._over
