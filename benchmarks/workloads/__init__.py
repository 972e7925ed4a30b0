"""The suite's own workloads, one per file; each file defines `WORKLOAD`.

To run your own file with a `WORKLOAD`, pass its path to `--workload`.
"""

from __future__ import annotations
