"""Checks whether a session can run a topology's DataFrames."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from kstreams.errors import CompileError

__all__ = ("check_width", "is_connect", "shuffle_partitions")

_WIDTH = "spark.sql.shuffle.partitions"
_MOST_PER_TASK = 2


def shuffle_partitions(session: SparkSession) -> int:
    """Return the number of partitions of Spark's shuffles."""
    return int(session.conf.get(_WIDTH) or 200)


def is_connect(session: SparkSession) -> bool:
    """Return whether a session is of Spark Connect, where `foreachBatch` runs on the server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def check_width(width: int, counts: Sequence[int]) -> None:
    """Check that there are at most twice as many shuffle partitions as tasks.

    Each shuffle partition adds about 0.1 s to a batch.

    Args:
        width: The number of shuffle partitions.
        counts: The number of tasks, by group.

    Raises:
        CompileError: There are more than twice as many partitions as tasks. The message names the
            setting.
    """
    most = max(counts)
    if width > _MOST_PER_TASK * most:
        raise CompileError(
            f"{_WIDTH} is {width}, and the topology has {most} tasks: Spark opens a state store "
            "for each partition in each batch",
            hint=f'Set spark.conf.set("{_WIDTH}", "{most}") before the first start; a checkpoint '
            "keeps the number of its first start.",
        )
