"""Spark partitions that come to the same Python worker batch after batch."""

from __future__ import annotations

import pickle
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.core.rdd import RDD
from pyspark.serializers import BatchedSerializer, CPickleSerializer

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

__all__ = ("PinnedWorkers",)

T = TypeVar("T")
"""Type of the elements."""
U = TypeVar("U")
"""Type of what becomes of them."""

_NAME = "KSTREAMS_WORKER"
_LOCK = threading.Lock()
"""Settings of workers are the context's, and queries have threads of their own."""


class PinnedWorkers:
    """The Python workers of a context's jobs, each known by a number.

    Spark has idle workers for each set of environment variables that it was asked for, so
    a variable with the number chooses among them. Otherwise workers come first, first
    served, and mostly without what they have fetched ahead for the partition.

    Args:
        context: Of one executor that runs all parts of a job at the same time.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._single: dict[int, RDD[int]] = {}  # one partition, made once: it takes a while

    def mapped(
        self, parts: Mapping[int, Sequence[T]], function: Callable[[Iterable[T]], Iterator[U]]
    ) -> RDD[U]:
        """Return the results of a function over each part, in the worker of the part's number.

        Args:
            parts: By number, small: they are sent with the function.
            function: Called once a part.
        """
        return self._pinned(parts, function, as_it_is=False)

    def shuffled(
        self,
        parts: Mapping[int, Sequence[T]],
        function: Callable[[Iterable[T]], Iterator[tuple[int, U]]],
        width: int,
    ) -> RDD[tuple[int, U]]:
        """Return what `mapped` does, its pairs in the partitions that they begin with.

        The workers themselves say where each pair goes. `RDD.partitionBy` has that said in
        one more worker for each partition, where the RDD is a union.

        Args:
            parts: As for `mapped`.
            function: The same.
            width: How many partitions there are; a pair's number is taken modulo that.
        """
        context = self._context
        jvm: Any = context._jvm  # what `RDD.partitionBy` does, from here on
        keyed: Any = self._pinned(parts, partial(_keyed, function, width), as_it_is=True)
        pairs = jvm.PairwiseRDD(keyed._jrdd.rdd()).asJavaPairRDD()
        parted = pairs.partitionBy(jvm.PythonPartitioner(width, id(_keyed)))
        values = jvm.PythonRDD.valueOfPair(parted)
        lists = BatchedSerializer(CPickleSerializer())  # type: ignore[no-untyped-call]  # pyspark's
        return RDD(values, context, lists)

    def _pinned(
        self,
        parts: Mapping[int, Sequence[T]],
        function: Callable[[Iterable[T]], Iterator[Any]],
        *,
        as_it_is: bool,
    ) -> RDD[Any]:
        """Return what `mapped` does; results that are bytes may be left as they are."""
        mapped: list[RDD[Any]] = []
        with _LOCK:
            try:
                for number, part in parts.items():
                    if number not in self._single:
                        self._single[number] = self._context.parallelize([number], 1)
                    self._context.environment[_NAME] = str(number)
                    rdd: Any = self._single[number].mapPartitions(partial(_over, function, part))
                    rdd._bypass_serializer = as_it_is  # as partitionBy does
                    rdd.id()  # asks the JVM for it, with the variables of now
                    mapped.append(rdd)
            finally:
                self._context.environment.pop(_NAME, None)
        return mapped[0] if len(mapped) == 1 else self._context.union(mapped)


def _over(
    function: Callable[[Iterable[T]], Iterator[U]], part: Sequence[T], number: Iterable[int]
) -> Iterator[U]:
    list(number)  # a worker that has not read its input to the end is not used again
    return function(part)


def _keyed(
    function: Callable[[Iterable[T]], Iterator[tuple[int, U]]], width: int, part: Iterable[T]
) -> Iterator[bytes]:
    """Yield what Spark's own `PairwiseRDD` takes: a partition's number, then pickled pairs."""
    for pair in function(part):
        yield struct.pack("!q", pair[0] % width)
        yield pickle.dumps([pair], pickle.HIGHEST_PROTOCOL)
