"""The checkpoint directory: what an app is, and the versions of its state.

Read `Checkpoint` first. Needs no pyspark: views and the command line look into a
checkpoint from outside, and `kstreams.spark` runs apps on it.
"""

from __future__ import annotations
