"""The command `lag`: the lag of peers over the rate of their input."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.machine import machine
from benchmarks.suite.cluster import Cluster
from benchmarks.suite.lag import measure_lag
from benchmarks.suite.measure import RunFailed
from benchmarks.suite.outcome import Lag
from benchmarks.suite.peer import Job, Peer, Unavailable
from benchmarks.suite.plan import MOST_BATCH
from benchmarks.suite.registry import peer_by, workload_by
from benchmarks.suite.workload import Workload

__all__ = ("add_to",)

_RATES = (1_000, 5_000, 20_000, 100_000, 300_000)
_WORKLOADS = ("W1", "W1R", "W1RR")
_PEERS = ("kstreams", "kstreams-embedded", "kafka-streams-uncached")


def add_to(commands: Any, *, cache: Path, count: Callable[[str], int]) -> None:
    """Add the command.

    Args:
        commands: Subparsers of the parser.
        cache: The default folder of peers and topics.
        count: Reads a number.
    """
    lag = commands.add_parser("lag", help="time from a record to its result, by input rate")
    lag.add_argument("--workload", action="append", metavar="W", help=" ".join(_WORKLOADS))
    lag.add_argument("--peer", action="append", metavar="P", help=" ".join(_PEERS))
    lag.add_argument("--rate", type=count, action="append", help="records/s; may be repeated")
    lag.add_argument("--rounds", type=count, default=1, help="%(default)s")
    lag.add_argument("--cache", type=Path, default=cache, help="peers, topics; %(default)s")
    lag.add_argument("--json", type=Path, help="write the figures as JSON to this file")
    lag.set_defaults(call=_measure)


def _measure(options: argparse.Namespace) -> int:
    peers = [peer_by(name) for name in options.peer or _PEERS]
    workloads = [workload_by(name) for name in options.workload or _WORKLOADS]
    found: list[dict[str, Any]] = []
    print(json.dumps(machine()))
    print(f"{'workload':9}{'peer':26}{'records/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'p99.9 ms':>10}")
    with Cluster(options.cache) as cluster:
        for peer in list(peers):
            try:
                peer.install(options.cache)
            except Unavailable as exc:
                print(f"{peer.name}: skipped, {exc}", file=sys.stderr)
                peers.remove(peer)
        for _ in range(options.rounds):
            for rate in options.rate or _RATES:
                for workload in workloads:
                    for peer in peers:
                        lag = _lag(cluster, workload, peer, rate, options.cache)
                        print(_line(workload.name, peer.name, rate, lag), flush=True)
                        found.append(
                            {"workload": workload.name, "peer": peer.name, "rate": rate}
                            | asdict(lag)
                        )
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": machine(), "lags": found}, indent=1))
    return int(any(each["reason"] for each in found))


def _lag(cluster: Cluster, workload: Workload, peer: Peer, rate: int, cache: Path) -> Lag:
    refusal = peer.refusal(workload)
    if refusal is not None:
        return Lag(reason=refusal)
    name = f"lag-{workload.name.lower()}-{peer.name}-{uuid4().hex[:8]}"
    topics = f"bench-in-{name}", f"bench-out-{name}"
    for topic in topics:
        cluster.create(topic, workload.dataset.partitions)
    home = cache / "runs" / name
    job = Job(workload, cluster.bootstrap, topics[:1], topics[1], (0,), MOST_BATCH, home)
    try:
        return measure_lag(peer, job, cache=cache, rate=rate)
    except RunFailed as exc:
        return Lag(reason=str(exc))
    finally:
        cluster.delete_all_but(lambda topic: topic not in topics)
        shutil.rmtree(home, ignore_errors=True)


def _line(workload: str, peer: str, rate: int, lag: Lag) -> str:
    figures = (
        f"  {lag.reason}"
        if lag.reason
        else f"{lag.p50_ms:9.0f}{lag.p99_ms:9.0f}{lag.p999_ms:10.0f}"
    )
    return f"{workload:9}{peer:26}{rate:10,}{figures}"
