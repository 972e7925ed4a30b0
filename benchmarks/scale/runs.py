"""The runs of the suite's rounds: W1 with different numbers of cores, partitions and keys."""

from __future__ import annotations

from benchmarks.peers.kstreams.peer import KStreams
from benchmarks.suite.clicks import KEYS as USUAL_KEYS
from benchmarks.suite.plan import Pair
from benchmarks.suite.registry import peer_by, workload_by
from benchmarks.suite.workload import Workload

__all__ = ("CORES", "EXECUTORS", "KEYS", "NATIVE", "PARTITIONS", "of_keys", "pairs")

CORES = {1: "kstreams-1-core", 2: "kstreams-2-cores"}
"""Names of peers by the number of Spark's cores."""

EXECUTORS = "kstreams-executors"
"""The peer with two executors as separate processes."""

NATIVE = "spark"
"""The peer to compare the library's memory with."""

PARTITIONS = (1, 4, 16, 64)
KEYS = (1_000, 100_000, 1_000_000)


def of_keys(number: int) -> Workload:
    """Return W1 with this number of keys."""
    usual = workload_by("W1")
    return usual if number == USUAL_KEYS else usual.of_keys(number)


def pairs() -> list[Pair]:
    """Return each workload with each of its peers."""
    usual = workload_by("W1")
    cores = [KStreams(name, "auto", f"local[{number}]") for number, name in CORES.items()]
    executors = KStreams(EXECUTORS, "auto", "local-cluster[2,1,1024]")
    spread = [usual.of_partitions(number) for number in PARTITIONS]
    others = [*spread, *map(of_keys, KEYS)]
    return [
        *((usual, peer) for peer in (*cores, executors)),
        *((workload, cores[-1]) for workload in others if workload.label != usual.label),
        (others[-1], peer_by(NATIVE)),
    ]
