"""Runs each Spark partition in the same Python worker in every batch."""

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
"""The type of results."""

_Pair = tuple[int, Any]
"""The data that stages exchange: the number of a worker, and a message."""

_NAME = "KSTREAMS_WORKER"
_LOCK = threading.Lock()
"""Held while the variables of the context's workers are changed: each query has its own thread."""


class PinnedWorkers:
    """The numbered Python workers of a context's jobs.

    Spark keeps idle workers for each set of environment variables, so a variable with the number
    selects a worker. Without the variable, a partition gets any worker, mostly one without the
    prefetched data of the partition.

    Args:
        context: The context of one executor that runs all parts of a job at the same time.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._single: dict[int, RDD[int]] = {}  # one partition, made once: it takes a while

    def run(
        self,
        parts: Mapping[int, Sequence[T]],
        first: Callable[[Iterable[T]], Iterator[_Pair]],
        *later: Callable[[Iterable[_Pair]], Iterator[_Pair]],
        width: int,
    ) -> RDD[_Pair]:
        """Return the results of functions on parts; each function is a stage of the job.

        Between two stages, each pair is sent to the worker whose number it begins with.

        Args:
            parts: Small parts by number; they are sent with the function.
            first: Called once for each part, in the worker of its number.
            later: Called once in each worker.
            width: The number of workers in later stages; numbers are taken modulo the width.
        """
        pieces: dict[int, RDD[Any]] = {}
        for number, part in parts.items():
            if number not in self._single:
                self._single[number] = self._context.parallelize([number], 1)
            pieces[number] = self._single[number].mapPartitions(partial(_over, first, part))
        for function in later:
            pieces = {
                number: received.mapPartitions(function)
                for number, received in self._shuffled(pieces, width).items()
            }
        return self._joined(pieces)

    def _shuffled(self, pieces: Mapping[int, RDD[Any]], width: int) -> dict[int, RDD[Any]]:
        """Return the pairs for each worker.

        The method does the same as `RDD.partitionBy`, but the workers themselves partition the
        pairs. For a union, `partitionBy` would need one more worker for each partition, and would
        create one RDD of the partitions, whose workers would all be alike.
        """
        context = self._context
        jvm: Any = context._jvm
        keyed = {
            number: each.mapPartitions(partial(_keyed, width)) for number, each in pieces.items()
        }
        together: Any = self._joined(keyed, as_it_is=True)
        pairs = jvm.PairwiseRDD(together._jrdd.rdd()).asJavaPairRDD()
        parted = pairs.partitionBy(jvm.PythonPartitioner(width, id(_keyed)))
        values = jvm.PythonRDD.valueOfPair(parted).rdd()
        pruned = jvm.org.apache.spark.rdd.PartitionPruningRDD
        lists = BatchedSerializer(CPickleSerializer())  # type: ignore[no-untyped-call]  # pyspark's
        found: dict[int, RDD[Any]] = {}
        for number in range(width):
            only = jvm.PythonUtils.toSeq([number]).toSet()  # a set is a function in Scala
            found[number] = RDD(pruned.create(values, only).toJavaRDD(), context, lists)
        return found

    def _joined(self, pieces: Mapping[int, RDD[Any]], *, as_it_is: bool = False) -> RDD[Any]:
        """Join pieces, each run in the worker of its number; `as_it_is`: elements are raw bytes."""
        with _LOCK:
            try:
                for number, piece in pieces.items():
                    self._context.environment[_NAME] = str(number)
                    piece._bypass_serializer = as_it_is  # type: ignore[attr-defined]  # as in partitionBy
                    piece.id()  # asks the JVM for it, with the variables of now
            finally:
                self._context.environment.pop(_NAME, None)
        found = list(pieces.values())
        return found[0] if len(found) == 1 else self._context.union(found)


def _over(
    function: Callable[[Iterable[T]], Iterator[U]], part: Sequence[T], number: Iterable[int]
) -> Iterator[U]:
    list(number)  # a worker that has not read its input to the end is not used again
    return function(part)


def _keyed(width: int, pairs: Iterable[_Pair]) -> Iterator[bytes]:
    """Yield the input of Spark's `PairwiseRDD`: a partition number, then pickled pairs."""
    for pair in pairs:
        yield struct.pack("!q", pair[0] % width)
        yield pickle.dumps([pair], pickle.HIGHEST_PROTOCOL)
