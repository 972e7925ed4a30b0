"""Topologies as transformations of DataFrames: from DataFrames of sources to DataFrames of sinks.

Read `transform.py` first: it builds a query. Each partition group becomes one stateful Spark
operator (chosen in `operators.py`). A task is one group (key) of the operator, and runs `stage.py`.
Operators exchange messages (`messages.py`): `pack.py` creates messages from source rows,
`unpack.py` creates rows from output. Spark's state has a `TaskRecord` for each task, with the
pointer of the task's state; the state itself is in the durable log. The code uses only the
DataFrame API, so it also runs on Spark Connect.
"""
