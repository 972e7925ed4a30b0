"""An app's driver: the start of the app, the loops of its queries, and the contract of engines.

Read `start.py` (the start of an app), then `query_loop.py` (plan, run, commit) and `executor.py`.
An `Engine` gives each query an `Executor`, which runs batches on workers: tasks of a Spark job
(`kstreams.spark`), or processes on this machine (`kstreams.local_workers`).

This package does not import Spark.
"""
