"""Shared parts of stores in buckets: the base of their settings, of their stores, and `objects`.

`BucketSettings` checks and describes the location; `BucketStore` has the operations that storages
share, and opens one client per process; `objects` makes the objects below a prefix a source of
records. The package is not a plugin: it has no entry points, and plugins may import it. Depends on
the core's contracts only.
"""

from __future__ import annotations

from kstreams_objectstore.objects import objects
from kstreams_objectstore.settings import BucketSettings
from kstreams_objectstore.store import BucketStore, file_info

__all__ = ("BucketSettings", "BucketStore", "file_info", "objects")
