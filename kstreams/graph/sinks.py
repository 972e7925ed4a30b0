"""Sinks that are not topics."""

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

    Made for looking on: at most 1,000 records of a task and batch are printed, and how
    many more there were.
    """
    return StdoutSink()


def to_function(function: Callable[[Record[K, V]], None]) -> FunctionSink[K, V]:
    """Call a function with each record, on the executor, before the batch is committed.

    At least once: a failed batch comes again. What it raises fails the batch. `to_batches` gets
    all of a batch at once, and what names it.
    """
    return FunctionSink(function, getattr(function, "__qualname__", repr(function)))


def to_batches(function: Callable[[Results[K, V], CommitId], None]) -> Sink[K, V]:
    """Call a function with what each task gives in each batch, on the executor.

    At least once: a batch that failed comes again, under the same `CommitId`, with the same
    results in the same order. A function that remembers commits makes that once. What it
    raises fails the batch; it may leave results out by `Results.refuse`.
    """
    return _FunctionOfBatches(function, getattr(function, "__qualname__", repr(function)))


@dataclass(frozen=True)
class _FunctionOfBatches(Generic[K, V]):
    """A sink, and its writer, which calls a function."""

    function: Callable[[Results[K, V], CommitId], None]
    label: str
    guarantee: Guarantee = "at-least-once"

    def prepare(self) -> None:
        """Do nothing: nobody knows what the function needs."""

    def open(self) -> _FunctionOfBatches[K, V]:
        """Return this."""
        return self

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Call the function."""
        self.function(results, commit)
        return ()

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing: there are no receipts."""

    def close(self) -> None:
        """Do nothing: the function is the user's."""
