"""Settings of Spark's with which a batch of a topology on DataFrames costs least."""

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
    number of shuffle partitions and the state store that it was begun with; the others may change
    at each start.

    Args:
        tasks: As `transform_frames(tasks=)`: Spark has a shuffle partition for each.
        running: Whether they are for a session that runs, by `session.conf.set`: what only the
            start of Spark can set is left out.
        local_checkpoint: Whether the query's checkpoint lies in a directory of this machine.
            Spark's own way there starts processes for each file. The one that replaces it does
            not keep two drivers from writing one file at the same time; that one query alone
            owns the state is seen to by `transform_frames`.
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
