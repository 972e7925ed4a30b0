"""Sinks that write to standard output or call a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from kstreams._types import K, V
from kstreams.graph.nodes import FunctionSink, StdoutSink
from kstreams.record import Record
from kstreams.sink import CommitId, Guarantee, Results, Sink

__all__ = ("to_batches", "to_function", "to_stdout")


def to_stdout() -> StdoutSink:
    """Print each record on the driver's standard output, after its batch is committed.

    Intended for development: prints at most 1,000 records of each task and batch, and the number of
    further records.
    """
    return StdoutSink()


def to_function(function: Callable[[Record[K, V]], None]) -> FunctionSink[K, V]:
    """Call a function with each record, on the executor, before the batch is committed.

    Delivery is at least once, because a failed batch is retried. An exception fails the batch.
    `to_batches` passes all results of a batch at once, with the id of the commit.
    """
    return FunctionSink(function, getattr(function, "__qualname__", repr(function)))


def to_batches(function: Callable[[Results[K, V], CommitId], None]) -> Sink[K, V]:
    """Call a function with the results of each task in each batch, on the executor.

    Delivery is at least once: a failed batch is retried under the same `CommitId`, with the same
    results in the same order. Delivery is exactly once if the function stores commit ids and
    ignores repeated ones. An exception fails the batch; `Results.refuse` rejects single results.
    """
    return _FunctionOfBatches(function, getattr(function, "__qualname__", repr(function)))


@dataclass(frozen=True)
class _FunctionOfBatches(Generic[K, V]):
    """The sink of `to_batches`: it is also its own writer, and calls the user's function."""

    function: Callable[[Results[K, V], CommitId], None]
    label: str
    guarantee: Guarantee = "at-least-once"

    def prepare(self) -> None:
        """Do nothing: a function needs no setup."""

    def open(self) -> _FunctionOfBatches[K, V]:
        """Return the sink itself, as its writer."""
        return self

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Call the function with a task's results; return no receipts."""
        self.function(results, commit)
        return ()

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing: `write` returns no receipts."""

    def close(self) -> None:
        """Do nothing: the user's function has no resources to release."""
