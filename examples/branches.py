"""Split payments into three branches, and merge two of them again.

python examples/branches.py
"""

from __future__ import annotations

from kstreams import INT64, TEXT, Topic, TopologyBuilder, map_values
from kstreams.testing import TopologyTestDriver

PAYMENTS = Topic("payments", key=TEXT, value=INT64)
ACCEPTED = Topic("accepted", key=TEXT, value=INT64)
TO_CHECK = Topic("to-check", key=TEXT, value=INT64)

builder = TopologyBuilder("branches")
payments = builder.add_source("payments", PAYMENTS)
sizes = builder.branch(
    "size",
    payments,
    {"refund": lambda _, cents: cents < 0, "small": lambda _, cents: cents < 10_000},
    default="large",
)
refunds = builder.add_processor("refunds-as-positive", map_values(abs), sizes["refund"])
accepted = builder.merge("accepted", refunds, sizes["small"])
builder.add_sink("accepted-out", ACCEPTED, accepted)
builder.add_sink("to-check-out", TO_CHECK, sizes["large"])
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology) as driver:
        for key, cents in (("ann", 500), ("bob", -200), ("eve", 1_000_000)):
            driver.pipe(PAYMENTS, key, cents)
        print("accepted", driver.read_values(ACCEPTED))
        print("to check", driver.read_values(TO_CHECK))
        print(topology.to_mermaid())
