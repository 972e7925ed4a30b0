"""An app without Spark: a process that commits a state, then commits changes at a fixed rate.

    python -m benchmarks.serve.committing PLACE KEYS PARTITIONS CHANGED SECONDS

Prints a line once the initial state is committed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow as pa

from kstreams import INT64, TEXT, Topic, TopologyBuilder, filter_, key_value_store
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import SystemClock
from kstreams.ids import TaskId
from kstreams.partitioner import partitions_of
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import Commit
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.versions import TaskVersions

COUNTS = key_value_store("counts", key=TEXT, value=INT64)
GROUP = "clicks"


class Committing:
    """Commits batches of changes to one store, like the engine."""

    def __init__(self, place: Path, keys: int, partitions: int) -> None:
        builder = TopologyBuilder("bench")
        source = builder.add_source(GROUP, Topic(GROUP, TEXT, INT64))
        builder.add_processor("keep", filter_(lambda k, v: True), source, stores=[COUNTS])
        self._checkpoint = Checkpoint.open(
            home_of(place), "bench", builder.build(), tasks={GROUP: partitions}
        )
        self._objects = self._checkpoint.log.open()
        self._commits = self._checkpoint.commits(GROUP, self._objects)
        self._local = place / "queries" / "local"
        self._pointers = dict.fromkeys(range(partitions), Pointer.empty())
        names = [f"key-{number}" for number in range(keys)]
        targets = partitions_of(pa.array(names).cast(pa.binary()), partitions)
        self._keys: dict[int, list[str]] = {partition: [] for partition in range(partitions)}
        for name, target in zip(names, targets.tolist(), strict=True):
            self._keys[target].append(name)
        self._upkeep = BackgroundUpkeep()  # as in a Spark worker
        self._batch = -1
        self._at = 0

    def commit(self, changed: int | None = None) -> None:
        """Commit a batch that changes this number of keys, or sets all keys if None."""
        self._batch += 1
        tasks: dict[TaskId, str] = {}
        for partition, pointer in self._pointers.items():
            own = self._keys[partition]
            count = len(own) if changed is None else changed // len(self._pointers)
            versions = TaskVersions(
                Memory(),
                self._local,
                self._objects,
                self._checkpoint.task_key(GROUP, TaskId(GROUP, partition)),
                [COUNTS.name],
                background=self._upkeep,
            )
            with versions.checkout(pointer, Attempt(new_attempt(), self._batch)) as checkout:
                overlay = Overlay(checkout.store)
                store = COUNTS.open(overlay)
                for number in range(count):
                    store.put(own[(self._at + number) % len(own)], self._batch)
                self._pointers[partition] = checkout.commit(overlay.changes(), {})
            tasks[TaskId(GROUP, partition)] = self._pointers[partition].to_json()
        self._at += 0 if changed is None else changed // len(self._pointers)
        self._commits.append(Commit(self._batch, "run", SystemClock().now_ms(), tasks))


def main() -> None:
    place, keys, partitions, changed, seconds = sys.argv[1:]
    app = Committing(Path(place), int(keys), int(partitions))
    app.commit()
    print("ready", flush=True)
    due = time.monotonic()
    while True:
        due += float(seconds)
        app.commit(int(changed))
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
