"""A peer of the benchmarks for tests: a small process that writes the expected results or fails."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.peer import Command, Format, Job, Timestamps, Unavailable
from benchmarks.suite.workload import Expected, Workload

_DURABILITY = Durability("at-least-once", "1 s", "memory")


@dataclass(frozen=True)
class Copying:
    """A peer that acts by its name:

    `copy` writes right results, `wrong` a wrong count, `crash` fails half way.
    """

    name: str
    does: str = "copy"
    format: Format = "json"
    timestamps: Timestamps = "event"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None
    durability: Durability = _DURABILITY

    @property
    def title(self) -> str:
        return f"a process that does {self.does}"

    def refusal(self, workload: Workload) -> str | None:
        return "it never does" if self.does == "refuse" else None

    def install(self, cache: Path) -> None:
        if self.does == "miss":
            raise Unavailable("no such compiler")

    def command(self, job: Job, cache: Path) -> Command:
        results = [
            (key.decode(), {"start": start, "value": value + (self.does == "wrong")}, time)
            for (key, start, _), (value, time) in _expected(job).items()
        ]
        total = str(job.records)
        given = {"RESULTS": json.dumps(results), "TOTAL": total, "DOES": self.does}
        return Command((sys.executable, "-c", PROGRAM), given)


def _expected(job: Job) -> Expected:
    workload = job.workload
    records = int(job.input.split("-seed")[0].rpartition("-")[2])
    return workload.expected(*workload.tables(records))


PROGRAM = """
import json, os
from confluent_kafka import Producer
given = os.environ
producer = Producer({"bootstrap.servers": given["BENCH_BOOTSTRAP"]})
results = json.loads(given["RESULTS"])
for step in range(5):
    for key, value, time in results[step::5]:
        producer.produce(given["BENCH_OUTPUT"], json.dumps(value), key, timestamp=time)
    producer.flush(60)
    print("progress", int(given["TOTAL"]) * (step + 1) // 5, flush=True)
    if given["DOES"] == "crash":
        raise OSError("the disk is full")
"""
