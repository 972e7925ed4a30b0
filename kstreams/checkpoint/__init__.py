"""The checkpoint of an app, in a directory or an object store, and the versions of its state.

Read `Checkpoint` first, then `open_for_running`, which starts an app. Needs no pyspark: views and
the command line read a checkpoint from outside, and `kstreams.spark` runs apps on it.
"""

from __future__ import annotations
