"""Recommended Spark settings for topologies on DataFrames: they shorten batches."""

from __future__ import annotations

__all__ = ("frame_settings",)

_STREAMING = "spark.sql.streaming"
_STATE = "org.apache.spark.sql.execution.streaming.state"
_CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing"


def frame_settings(
    tasks: int, *, running: bool = False, local_checkpoint: bool = False
) -> dict[str, str]:
    """Return the settings of a session for `transform_frames`.

    `SparkSession.builder.config(map={**frame_settings(4)})` takes them. A checkpoint keeps the
    number of shuffle partitions and the state store of its first start; the other settings may
    change at each start.

    Args:
        tasks: The number of tasks, as for `transform_frames`: Spark has a shuffle partition for
            each task.
        running: Whether the settings are for `session.conf.set` of a running session: settings that
            take effect only at the start of Spark are left out.
        local_checkpoint: Whether the query's checkpoint is a directory of this machine. Spark's
            default file manager then starts processes for each file. The one in these settings does
            not prevent two drivers from writing a file at the same time, but `transform_frames`
            ensures that only one query owns the state.
    """
    found = {
        "spark.sql.shuffle.partitions": str(tasks),
        f"{_STREAMING}.stateStore.providerClass": f"{_STATE}.RocksDBStateStoreProvider",
        # A batch's few changes, and not all files of a database, zipped, a partition.
        f"{_STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    if local_checkpoint:
        manager = f"{_CHECKPOINTING}.FileSystemBasedCheckpointFileManager"
        found[f"{_STREAMING}.checkpointFileManagerClass"] = manager
    if not running:
        # Over TCP the kernel holds back an acknowledgement for 40 ms, once or twice a Python task.
        found["spark.python.unix.domain.socket.enabled"] = "true"
    return found
