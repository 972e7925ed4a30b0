"""Spark: compile a topology to streaming queries and run them as an app.

Read `App` first, then `start` (the steps of its start), `Pipeline` (one query) and `Stage`
(what runs in a worker). This package alone imports pyspark.
"""

from __future__ import annotations
