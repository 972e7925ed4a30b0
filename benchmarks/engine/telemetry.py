"""Overhead of telemetry: one task with and without the measurements of workers, batch by batch.

    python -m benchmarks.engine telemetry

The figures are processor time of the whole process, including the thread of the sampler, as the
median ratio over pairs of equal batches. The time that the driver's thread takes to write telemetry
is measured separately.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.engine.one_task import CASES, KEYS, Bench, Sizes, drawn, queues
from kstreams.batch.messages.latency import Ages, Latency
from kstreams.batch.report import BatchReport, TaskReport
from kstreams.checkpoint.storage.directory_home import DirectoryHome
from kstreams.clock import SystemClock
from kstreams.ids import TaskId
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.totals import NodeCounts
from kstreams.task.node_sampler import NodeSampler
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue
from kstreams.task.task import Task
from kstreams.telemetry.recorder import Recorder

_CASES = ("chain-classes", "chain-blocks", "count-memory-uniform", "count-tables-memory-uniform")
_HZ = 50


class _Told(Bench):
    """`Bench` with the measurements that a worker makes."""

    def __init__(self, *args: object, sampler: NodeSampler) -> None:
        super().__init__(*args)  # type: ignore[arg-type]  # the arguments of `Bench`
        self._sampler = sampler

    def _run(self, queues: Sequence[Queue], overlay: Overlay) -> TaskOutput:
        task = Task(self.group, 0, overlay, self.meta, tables=self.tables)
        output = task.run(queues, wall_ms=0, sampler=self._sampler)
        Ages.of(10**9, (queue.table.column("timestamp").to_numpy() for queue in queues)).to_json()
        task.close()
        return output


def pairs(home: Path, batch: int, count: int) -> dict[str, float]:
    """Measure the workers' throughput per processor second, and the driver's telemetry writes."""
    print(f"\ntelemetry: pairs of {count} batches of {batch:,} records, {_HZ} samples a second\n")
    figures = {}
    sampler = NodeSampler(_HZ)
    for case in _CASES:
        make, backend, keys = CASES[case]
        group = make().groups[0]
        sides = (
            Bench(group, backend, home / f"{case}-without"),
            _Told(group, backend, home / f"{case}-with", sampler=sampler),
        )
        ratios = []
        for number, queue in enumerate(queues(drawn(keys, Sizes(batch, count)), KEYS)):
            spent = {}
            for side in sides if number % 2 else sides[::-1]:
                began = time.process_time()
                side.run(queue)
                spent[side] = time.process_time() - began
            ratios.append(spent[sides[0]] / spent[sides[1]])
        found = sorted(ratios[2:])
        figures[f"{case}: with against without"] = median(found)
        low, high = found[len(found) // 4], found[-len(found) // 4]
        print(f"{case:30}{median(found):8.3f}   quartiles {low:.3f} {high:.3f}", flush=True)
    written = figures["writing a report of 8 tasks, CPU ms"] = _written(home)
    print(f"{'writing a report of 8 tasks':30}{written:8.3f} ms")
    return figures


def _written(home: Path, batches: int = 200) -> float:
    """Return the processor milliseconds that the driver's thread takes per batch."""
    checkpoint = DirectoryHome(home / "written")
    recorder = Recorder(checkpoint, app="a", run="r", clock=SystemClock())
    began = time.process_time()
    for number in range(batches):
        recorder.committed(_report(number))
        recorder._write(checkpoint.telemetry(), ends=False)
    return 1000 * (time.process_time() - began) / batches


def _report(batch: int) -> BatchReport:
    busy = dict.fromkeys(("read", "restore", "process", "write", "commit"), 0.01)
    task = partial(TaskReport, records=1_000, seconds=busy, put_bytes=1_000, worker="host/4711")
    return BatchReport(
        "lines",
        batch,
        records=9_000,
        nodes={f"node-{n}": NodeCounts(1_000, 1_000) for n in range(12)},
        committed_ms=1_790_000_000_000 + batch,
        phases=dict.fromkeys(("wait", "plan", "job", "commit", "publish"), 0.01),
        tasks=tuple(
            task(TaskId("by-word", n), node_seconds={"count": 0.01}, rows={"counts": 1_000})
            for n in range(8)
        ),
        latency=Latency(),
    )
