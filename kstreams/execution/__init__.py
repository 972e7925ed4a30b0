"""An app's driver: its start, its queries, and the contract of the executors that run batches.

Read `start.py` (the start of an app), then `query_loop.py` (plan, run, commit) and `executor.py`.
An `Engine` gives each query an `Executor`: Spark jobs (`kstreams.spark`), or worker processes on
this machine (`kstreams.local_workers`).

This package does not import Spark.
"""
