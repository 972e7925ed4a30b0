"""Sinks that are not topics."""

from __future__ import annotations

from collections.abc import Callable

from kstreams._types import K, V
from kstreams.graph.nodes import FunctionSink, StdoutSink
from kstreams.record import Record

__all__ = ("to_function", "to_stdout")


def to_stdout() -> StdoutSink:
    """Print each record on the driver's standard output, after its batch is committed.

    Made for looking on: at most 1,000 records of a task and batch are printed, and how
    many more there were.
    """
    return StdoutSink()


def to_function(function: Callable[[Record[K, V]], None]) -> FunctionSink[K, V]:
    """Call a function with each record, on the executor, before the batch is committed.

    At least once: a failed batch comes again. What it raises fails the batch.
    """
    return FunctionSink(function, getattr(function, "__qualname__", repr(function)))
