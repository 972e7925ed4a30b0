"""The task: one partition group at one partition, driven over one micro-batch.

Read `Task` first. This package only uses Python and Arrow columns, so that the test driver and
Spark's workers run the same code. It does not import pyspark or read a clock.
"""

from __future__ import annotations
