"""Objects of Google Cloud Storage: as a source, as a place for a sink's files, and for state.

Read `GCS` first: bucket, prefix and credentials. `objects("orders", GCS("gs://bucket/orders"),
Lines(TEXT))` is a log of what others put there, for `TopologyBuilder.add_source`;
`kstreams_objects.Objects(GCS(...))` writes results there; and it keeps the contract of durable
storage, so a backend may have it as its log: `RocksDB(log=GCS("gs://bucket/app"))`. Depends on
google-cloud-storage and on the core's contracts.
"""

from __future__ import annotations

from kstreams_gcs.errors import GcsAccessError, GcsError, GcsUnavailableError
from kstreams_gcs.settings import GCS
from kstreams_objectstore import objects

__all__ = (
    "GCS",
    "GcsAccessError",
    "GcsError",
    "GcsUnavailableError",
    "objects",
)
