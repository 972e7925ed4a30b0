"""The group-state executor: each partition group is a stateful operator of a streaming query.

Read `query.py` (the streaming query), `executor.py` (its micro-batches), then `stage.py` (a task in
a worker). `calls.py` has the messages that tasks get from the driver.
"""
