"""Running a topology on Spark.

`App(topology, connection)` runs a topology until the end of its topics or until the app is stopped.
The next app on the same checkpoint continues at exactly that position.

- `App(on_batch=...)` gets a `BatchReport` of each committed batch; `App.state` is an `AppState`. A
  report has `NodeCounts` of the batch, and `Totals` of all batches, with `PartitionCounts` of
  sources and `TopicCounts`, the records and bytes of each topic.
- `App.on_rebalance(listener)` reports a `TaskMove` for each task that moved to another worker.
- `App(migrate={store: Migration(...)})` keeps the contents of a store that has changed.
- `App(fork=ForkSource(...))` starts on a copy of another app's savepoint.
- `App(upkeep=Upkeep(...))` sets the interval of snapshots in the durable log.
- `App(telemetry=Telemetry(...))` configures telemetry. A report has a `TaskReport` of each task,
  the `Latency` of records, and a `DropSample` of some dropped records.
- `App(clock=...)` takes a `Clock`; `SystemClock` is the default.

Example:
    >>> from kstreams.app import ForkSource
    >>> ForkSource.parse(".kstreams/balances@monday").savepoint
    'monday'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams.batch.messages.latency import Latency
from kstreams.batch.report import AppState, BatchReport, TaskReport
from kstreams.batch.task_moves import TaskMove
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.start.migration import Migration
from kstreams.checkpoint.storage.telemetry_settings import Telemetry
from kstreams.clock import Clock, SystemClock
from kstreams.ids import TopicPartition
from kstreams.lazy import lazy_names
from kstreams.state.log.topic_counts import TopicCounts
from kstreams.state.log.totals import NodeCounts, PartitionCounts, Totals
from kstreams.state.log.traffic import Traffic
from kstreams.state.log.upkeep import Upkeep
from kstreams.task.progress.drop_sample import DropSample

if TYPE_CHECKING:
    from kstreams.application.app import App
else:  # a checker would take any name then
    __getattr__ = lazy_names(
        __name__,
        {
            "App": "kstreams.application.app",
        },
    )

__all__ = (
    "App",
    "AppState",
    "BatchReport",
    "Clock",
    "DropSample",
    "ForkSource",
    "Latency",
    "Migration",
    "NodeCounts",
    "PartitionCounts",
    "SystemClock",
    "TaskMove",
    "TaskReport",
    "Telemetry",
    "TopicCounts",
    "TopicPartition",
    "Totals",
    "Traffic",
    "Upkeep",
)
