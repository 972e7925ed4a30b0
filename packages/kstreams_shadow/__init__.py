"""Run a changed topology next to an app, compare both, and make the changed topology the app.

A shadow has two replicas of the app, `old` with its topology and `new` with the changed one. Both
start from a fork of one savepoint, read the input of each committed batch of the app, and keep
their results back. Read `shadow_run.ShadowRun` first; `cut_over.cut_over` makes a replica the app.
This package does not import pyspark.
"""

from __future__ import annotations
