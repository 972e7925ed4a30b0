"""The graph: build, check, divide into groups, and draw a topology.

Read `TopologyBuilder` first, then `Topology` and `PartitionGroup`. Knows nothing of how
a topology is run, and imports no pyspark.
"""

from __future__ import annotations
