"""The task: one partition group at one partition, driven over one micro-batch.

Read `Task` first. Everything here is pure Python on Arrow columns: the test driver and
the stage on Spark run the very same code. Imports no pyspark, reads no clock.
"""

from __future__ import annotations
