"""A process that commits version after version until it is killed.

Arguments: a backend, a directory and the pointer to begin with. Prints `ready` first, then one
    pointer in each line, as soon as it is committed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kstreams.state.backend.memory import Memory
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.backend.working import StoreChanges
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.versions import TaskVersions
from kstreams_rocksdb import RocksDB

KEYS = 300
BACKGROUND = BackgroundUpkeep()


def versions(backend: str, root: Path) -> TaskVersions:
    """Return the versions of a task, with small snapshots, so that a kill may hit one."""
    return TaskVersions(
        Memory() if backend == "memory" else RocksDB(),
        root / "local",
        DirectoryObjectStore(root / "log"),
        TaskKey("app", "group", 0),
        ["a", "b"],
        upkeep=Upkeep(merge_count=3, floor_bytes=4000, small_bytes=0, chunk_bytes=2000),
        background=BACKGROUND,
    )


def changes(version: int) -> dict[str, StoreChanges]:
    """Return the changes of the commit that leads to a version."""
    keys = [b"%06d" % key for key in range(version % 5, KEYS, 5)]
    values = [None if key % 50 == version % 5 else b"%d" % version for key in range(len(keys))]
    pairs: list[tuple[bytes, bytes | None]] = list(zip(keys, values, strict=True))
    return {"a": StoreChanges(pairs), "b": StoreChanges([(b"version", b"%d" % version)])}


def say(line: str) -> None:
    """Write a line and flush it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    backend, root, pointer = sys.argv[1], Path(sys.argv[2]), Pointer.from_json(sys.argv[3])
    say("ready")
    while True:
        attempt = Attempt(new_attempt(), pointer.version + 1)
        with versions(backend, root).checkout(pointer, attempt) as checkout:
            pointer = checkout.commit(changes(pointer.version + 1), {})
        say(pointer.to_json())
