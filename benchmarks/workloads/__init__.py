"""The suite's own workloads, one a file; each has a `WORKLOAD`.

A file of yours that has one too is given to `--workload` by its path.
"""

from __future__ import annotations
