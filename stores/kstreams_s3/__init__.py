"""Durable state in S3 and compatible object storage; and objects as a source.

Read `S3` first, the log of a backend: `RocksDB(log=S3("s3://bucket/app"))`. Deltas, snapshots and
commits become objects; the disk of a worker is then only a cache. `objects("orders",
S3("s3://bucket/orders"), Lines(TEXT))` is a log of objects of other writers, for
`TopologyBuilder.add_source`. Nothing here depends on Spark.
"""

from __future__ import annotations

from kstreams_objectstore import objects
from kstreams_s3.errors import (
    AccessDeniedError,
    BucketMissingError,
    CertificateError,
    CredentialsError,
    CredentialsExpiredError,
    S3Error,
    StorageUnavailableError,
)
from kstreams_s3.settings import S3

__all__ = (
    "S3",
    "AccessDeniedError",
    "BucketMissingError",
    "CertificateError",
    "CredentialsError",
    "CredentialsExpiredError",
    "S3Error",
    "StorageUnavailableError",
    "objects",
)
