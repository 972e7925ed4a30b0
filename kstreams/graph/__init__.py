"""The topology graph: build it, check it, divide it into partition groups, and draw it.

Read `TopologyBuilder` first, then `Topology` and `PartitionGroup`. This package does not run
topologies, and does not import pyspark.
"""

from __future__ import annotations
