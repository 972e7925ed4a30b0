"""Spark partitions that come to the same Python worker batch after batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

__all__ = ("mapped_by_own_workers",)

T = TypeVar("T")
"""Type of the elements."""
U = TypeVar("U")
"""Type of what becomes of them."""

_NAME = "KSTREAMS_WORKER"
_LOCK = threading.Lock()
"""Settings of workers are the context's, and queries have threads of their own."""


def mapped_by_own_workers(
    context: SparkContext,
    parts: Mapping[int, Sequence[T]],
    function: Callable[[Iterable[T]], Iterator[U]],
) -> RDD[U]:
    """Return the results of a function over each part, in a worker of the part's number.

    Spark has idle workers for each set of environment variables that it was asked for, so
    a variable with the number chooses among them. Otherwise workers come first, first
    served, and mostly without what they have fetched ahead for the partition.

    Args:
        context: Of the executors: for one that runs all parts at the same time.
        parts: By number, the elements of each Spark partition.
        function: For `mapPartitions`.
    """
    mapped: list[RDD[Any]] = []
    with _LOCK:
        try:
            for number, part in parts.items():
                context.environment[_NAME] = str(number)
                rdd = context.parallelize([part], 1).flatMap(iter).mapPartitions(function)
                rdd.id()  # asks the JVM for it, with the variables of now
                mapped.append(rdd)
        finally:
            context.environment.pop(_NAME, None)
    return mapped[0] if len(mapped) == 1 else context.union(mapped)
