"""Chooses the stateful Spark operator that runs the partition groups of a topology."""

from __future__ import annotations

from typing import Literal

from pyspark.sql import SparkSession

from kstreams.errors import CompileError

__all__ = ("Operator", "chosen_operator")

Operator = Literal["transform-with-state", "group-state"]
"""A stateful operator: `transformWithStateInPandas`, which needs Spark's RocksDB state store and
may be chained, or `applyInPandasWithState` (`mapGroupsWithState`), which runs on any state store,
but only once per query unless Spark's check of unsupported operations is off."""

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHECK = "spark.sql.streaming.unsupportedOperationCheck"


def chosen_operator(
    session: SparkSession, asked: Operator | Literal["auto"], groups: int
) -> Operator:
    """Return the operator that runs the groups of a topology in a session.

    Args:
        session: The session in which the query will run.
        asked: The requested operator.
        groups: The number of groups of the topology.

    Raises:
        CompileError: The session does not support the operator. The message names the setting.
    """
    on_rocksdb = (session.conf.get(_PROVIDER, "") or "").endswith("RocksDBStateStoreProvider")
    chains = groups == 1 or (session.conf.get(_CHECK, "true") or "true").lower() == "false"
    if asked == "auto":
        asked = "group-state" if chains and not on_rocksdb else "transform-with-state"
    if asked == "transform-with-state" and not on_rocksdb:
        raise CompileError(
            f"operator='transform-with-state' needs Spark's RocksDB state store, but {_PROVIDER} "
            "has another value",
            hint=f'Set spark.conf.set("{_PROVIDER}", "{_ROCKSDB}") before the first start.',
        )
    if asked == "group-state" and not chains:
        raise CompileError(
            f"the topology has {groups} groups, but operator='group-state' supports one: Spark "
            "does not chain applyInPandasWithState",
            hint="Use operator='transform-with-state'; or, where the platform allows it, "
            f'spark.conf.set("{_CHECK}", "false").',
        )
    return asked
