"""Objects of Google Cloud Storage: as a source, for the files of a sink, and for state.

Read `GCS` first: bucket, prefix and credentials. `objects("orders", GCS("gs://bucket/orders"),
Lines(TEXT))` is a log of objects of other writers, for `TopologyBuilder.add_source`;
`kstreams_objects.Objects(GCS(...))` writes results to the bucket. `GCS` also implements durable
storage, so that a state backend can use it as its log: `RocksDB(log=GCS("gs://bucket/app"))`.
Depends on google-cloud-storage and on the core's contracts.
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
