"""The app on the cluster, copied to its machines: it counts words, in total and by window.

Run it by `spark-submit counting_app.py OPTIONS`, with options as a JSON object. It needs the
installed library and `tests/support/apps/word_counter.py` next to it, which is sent to the
executors as a module of a user. Lines are split into words, and words go through a repartition
topic. Each word gives its new count, and its count in each window of 100 ms when the window closes.
The app runs until SIGTERM, and prints its commits.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kstreams import (
    BYTES,
    INT64,
    TEXT,
    App,
    Kafka,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.aggregators import count
from kstreams.app import BatchReport
from kstreams.durations import milliseconds, seconds
from kstreams.emit import on_close
from kstreams.state import ObjectStore
from kstreams.stores import window_store
from kstreams.windows import TumblingWindows, Windowed, windowed, windowed_aggregate
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3
from tests.support.apps.word_counter import count_words

WINDOW_MS = 100
GRACE_S = 5
WINDOWS = TumblingWindows(milliseconds(WINDOW_MS), grace=seconds(GRACE_S))
RECENT = window_store("recent", key=TEXT, value=INT64)


@dataclass(frozen=True)
class Pausing:
    """An object store that stops the driver before or after a write, as if the machine hung.

    Args:
        inner: The real store.
        moment: `before` or `after` an object is written.
        kind: Prefix of the names of the objects that count.
        number: The number of the write, counted in this process from 1.
    """

    inner: S3
    moment: str
    kind: str
    number: int

    def open(self) -> PausingStore:
        return PausingStore(self.inner.open(), self)


class PausingStore:
    """Stops its process at one write."""

    def __init__(self, inner: ObjectStore, settings: Pausing) -> None:
        self._inner = inner
        self._settings = settings
        self._puts = 0

    def put_if_absent(self, name: str, data: bytes) -> bool:
        meant = name.startswith(self._settings.kind)
        self._puts += meant
        due = meant and self._puts == self._settings.number
        if due and self._settings.moment == "before":
            os.kill(os.getpid(), signal.SIGSTOP)
        created = self._inner.put_if_absent(name, data)
        if due and self._settings.moment == "after":
            os.kill(os.getpid(), signal.SIGSTOP)
        return created

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        return self._inner.get(name, start, length)

    def list(self, prefix: str) -> Iterator[str]:
        return self._inner.list(prefix)

    def delete(self, names: Iterable[str]) -> None:
        self._inner.delete(names)


def lines(name: str) -> Topic[bytes, str]:
    """Return the source topic of the app with this name."""
    return Topic(f"{name}-lines", BYTES, TEXT)


def totals(name: str) -> Topic[str, int]:
    """Return the topic of the app's counts."""
    return Topic(f"{name}-totals", TEXT, INT64)


def per_window(name: str) -> Topic[Windowed[str], int]:
    """Return the topic of the app's counts by window."""
    return Topic(f"{name}-per-window", windowed(TEXT, WINDOWS), INT64)


def build(name: str) -> Topology:
    builder = TopologyBuilder(name)
    words, _ = count_words(builder, lines(name), totals(name))
    recent = windowed_aggregate(WINDOWS, count(), store=RECENT, emit=on_close())
    finals = builder.add_processor("recent", recent, words)
    builder.add_sink("per-window", per_window(name), finals, result_ids=True)
    return builder.build()


def tell(report: BatchReport) -> None:
    sys.stdout.write(f"batch {report.batch} of {report.source_records} lines is committed\n")
    sys.stdout.flush()


def _checkpoint(options: dict[str, Any]) -> S3 | Pausing:
    given = options["s3"]
    if not options.get("keys", True):
        given = {name: given[name] for name in ("url", "endpoint_url", "region")}
    storage = S3(**given)
    return Pausing(storage, **options["pause"]) if "pause" in options else storage


def main() -> None:
    options = json.loads(sys.argv[1])
    faulthandler.register(signal.SIGUSR1)  # writes the stacks of its threads
    App(
        build(options["name"]),
        Kafka(options["bootstrap"]),
        state=RocksDB(),
        checkpoint=options.get("directory") or _checkpoint(options),
        trigger=timedelta(milliseconds=options.get("trigger_ms", 100)),
        max_records_per_batch=options["max_records"],
        parallelism=options.get("parallelism"),
        on_batch=tell,
    ).run()


if __name__ == "__main__":
    main()
