"""Worker processes that run batch after batch, and the driver's pool of them.

Read `pool.py` (the driver's side), then `worker.py` (a worker process). A worker connects to the
driver once and runs many batches: the driver sends it the settings of a stage once, and then the
task calls of each batch. Workers send records of repartition edges directly to each other
(`exchange.py`). An executor provides a `Launcher`, which starts the processes: as tasks of a Spark
job, or on this machine.

This package does not import Spark.
"""
