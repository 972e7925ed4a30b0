"""The group-state executor, for `stage="group-state"`: it runs batches in a streaming query.

Each partition group is one stateful Spark operator (`applyInPandasWithState`) of the query.

Read `query.py` (the streaming query), `executor.py` (its micro-batches), then `stage.py` (a task in
a worker). `calls.py` has the messages that tasks get from the driver.
"""
