"""What telemetry costs: rounds with all of it and without, in turns, on the same topics.

    python -m benchmarks.engine telemetry

The ratio of each pair of rounds is taken, and their median: what else a machine does changes
slower than that.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from benchmarks.engine.on_spark import counting, drain, fill, idling, rate
from kstreams import Embedded, Topology
from kstreams.app import Telemetry

ALL = Telemetry(files=True, sample_hz=50)
NONE = Telemetry(files=False, sample_hz=0)


def pairs(home: Path, records: int, rounds: int) -> dict[str, float]:
    """Measure throughput with telemetry against without."""
    connection = Embedded(home / "topics", durable=False)
    fill(connection, records)
    print(f"\ntelemetry: {records:,} records of embedded topics, 4 partitions, {rounds} pairs\n")
    figures = {}
    for name, topology in {
        "nothing, per record": idling(),
        "count per record to a sink": counting(sink=True),
    }.items():
        found = [_pair(topology, connection, home, number) for number in range(rounds)]
        for part, at in (("records/s", 0), ("busy seconds of tasks", 1)):
            ratio = median(pair[at] for pair in found)
            figures[f"{name}: {part}, with against without"] = ratio
            print(f"{name + ': ' + part:50}{ratio:10.3f}  {[round(p[at], 3) for p in found]}")
    return figures


def _pair(topology: Topology, connection: Embedded, home: Path, number: int) -> tuple[float, float]:
    """Return both ratios of one pair; which comes first changes from pair to pair."""
    found: dict[Telemetry, tuple[float, float]] = {}
    for telemetry in (ALL, NONE) if number % 2 else (NONE, ALL):
        batches = drain(topology, connection, home, max_records=100_000, telemetry=telemetry)
        busy = sum(sum(task.seconds.values()) for _, report in batches for task in report.tasks)
        found[telemetry] = rate(batches), busy
    (rate_with, busy_with), (rate_without, busy_without) = found[ALL], found[NONE]
    return rate_with / rate_without, busy_with / busy_without
