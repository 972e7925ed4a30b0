"""Runs for the performance goals: workloads, their peers, and enough records to warm up each.

After its warm-up, a peer is measured for 20 s or 2,000,000 records, according to its rate on two
cores.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from benchmarks.suite.plan import Plan
from benchmarks.suite.registry import UnknownName, peer_by, workload_by

__all__ = ("GOALS", "goal_plan")

_MINUTES = 60.0
_WARM = 2_300_000
_BIDS = 3_000_000
_QUERIES = ("Q2", "Q5", "Q7", "Q11", "Q12")

GOALS: Mapping[str, Mapping[str, int]] = {
    "W1": {
        "kstreams": 5_000_000,
        "kstreams-record": _WARM,
        "kafka-streams": _WARM,
        "kafka-streams-uncached": _WARM,
        "flink-java-combining": 5_000_000,
        "pathway-2-persistent": _WARM,
        "limit": 5_000_000,
    },
    "W2": {
        "kstreams": 5_000_000,
        "kstreams-record": _WARM,
        "kafka-streams": 5_000_000,
        "kafka-streams-uncached": _WARM,
        "goka": _WARM,
        "flink-java-combining": 5_000_000,
        "pathway-2-persistent": _WARM,
        "limit": 5_000_000,
    },
    "W3": {
        "kstreams": _WARM,
        "kafka-streams": _WARM,
        "kafka-streams-uncached": 1_200_000,
        "flink-sql": 1_200_000,
        "flink-java-combining": 1_200_000,
    },
    "W4": {
        "kstreams": _WARM,
        "kafka-streams": 200_000,
        "kafka-streams-uncached": 300_000,
        "flink-sql": 1_200_000,
        "kafka-streams-processor": 1_200_000,
        "flink-java": 1_200_000,
    },
    "Q1": {"kstreams": _BIDS, "flink-sql": _BIDS, "limit": _BIDS},
    **{query: {"kstreams": _BIDS, "flink-sql": _BIDS} for query in _QUERIES},
}
"""The number of records of the first dataset in a run, by workload and peer."""


def goal_plan(workloads: Collection[str] = (), peers: Collection[str] = ()) -> Plan:
    """Return the plan of all goals, or only of the given workloads or peers.

    Raises:
        UnknownName: There is no goal for these workloads and peers.
    """
    shares = {
        (workload, peer): records
        for workload, own in GOALS.items()
        for peer, records in own.items()
        if (not workloads or workload in workloads) and (not peers or peer in peers)
    }
    if not shares:
        raise UnknownName(
            "there is no goal for these workloads and peers; goals exist for the workloads "
            f"{' '.join(GOALS)} and the peers {' '.join(_peers())}"
        )
    pairs = [(workload_by(workload), peer_by(peer)) for workload, peer in shares]
    return Plan(pairs, shares=shares, minutes=_MINUTES, lag="W1" in dict(shares.keys()))


def _peers() -> dict[str, int]:
    return {peer: records for own in GOALS.values() for peer, records in own.items()}
