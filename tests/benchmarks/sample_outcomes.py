"""Sample outcomes and figures for tests of the benchmark suite."""

from __future__ import annotations

from benchmarks.suite.durability import Durability
from benchmarks.suite.figures import Figures
from benchmarks.suite.outcome import Cell, Lag, Outcome


def figures(rate: float, records: int = 10_000) -> Figures:
    return Figures(
        records=records,
        rate=rate,
        startup_s=2.0,
        cpu_s_per_million=10.0,
        broker_cpu_s_per_million=1.0,
        peak_bytes=500_000_000,
        state_bytes=2_000_000,
        results=100,
        progress=[(1.0, 500), (2.0, 1000)],
    )


def outcome(*rates: float) -> Outcome:
    """Return an outcome in which the library ran at these rates and another peer did not run."""
    done = Cell("W1", "kstreams", [figures(rate) for rate in rates], lag=Lag(100.0, 250.0))
    refused = Cell("W1", "other", reason="it has no windows")
    return Outcome(
        machine={"cpu": "a cpu", "cores": 2, "python": "3.11", "load": 0.5},
        settings={"started": "today", "rounds": len(rates), "records": None},
        workloads={"W1": "tumbling count"},
        peers={"kstreams": "the library", "other": "another"},
        cells=[done, refused],
        notes=["2 of 3 rounds were run"],
        durability={"kstreams": Durability("at-least-once", "1 s", "memory")},
    )
