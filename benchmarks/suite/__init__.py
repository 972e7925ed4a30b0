"""The suite that runs workloads on peers: data, measurement, checks, reports.

Start with `workload.py` and `peer.py`: a workload defines a computation, a peer implements it on
one system. `measure.py` performs one run, `rounds.py` all runs. Each file of
`benchmarks/workloads/` is a workload, and each folder of `benchmarks/peers/` a peer.
"""

from __future__ import annotations
