"""The checkpoint of an app, in a directory or an object store, and the versions of its state.

Read `Checkpoint` first, then `open_for_running`, which starts an app. Nothing here needs pyspark:
views and the command line read checkpoints, and `kstreams.spark` runs apps on them.
"""

from __future__ import annotations
