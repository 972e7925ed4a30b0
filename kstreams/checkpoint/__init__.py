"""The checkpoint, in a directory or an object store: what an app is, and the versions of its state.

Read `Checkpoint` first, then `open_for_running`, by which an app starts. Needs no pyspark:
views and the command line look into a checkpoint from outside, and `kstreams.spark` runs apps
on it.
"""

from __future__ import annotations
