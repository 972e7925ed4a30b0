"""The suite that runs workloads on peers: data, measuring, checking, reporting.

Read `workload.py` and `peer.py` first: a workload says what is to be computed, a peer how one
system computes it. `measure.py` is one run, `rounds.py` all of them. `benchmarks/workloads/`
and `benchmarks/peers/` hold one of each a file or folder.
"""

from __future__ import annotations
