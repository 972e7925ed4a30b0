"""The Spark engine: it runs apps on a Spark session, and topologies on DataFrames.

Read `engine.py` first, then `launcher.py` (the Spark job whose tasks are the workers of an app) and
`frames/` (topologies as transformations of DataFrames). `group_state/` runs an app as a streaming
query; `startup/` starts Java and Spark. Only this package imports pyspark.
"""

from __future__ import annotations
