"""Durable state in S3, or in any storage that speaks S3's protocol; and objects as a source.

Read `S3` first; it is what a backend is given as its log: `RocksDB(log=S3("s3://bucket/app"))`.
Deltas, snapshots and commits become objects; what a worker has on its own disk is then a
mere cache. `objects("orders", S3("s3://bucket/orders"), Lines(TEXT))` is a log of what others put
there, for `TopologyBuilder.add_source`. Nothing here depends on Spark.
"""

from __future__ import annotations

from kstreams_s3.errors import (
    AccessDeniedError,
    BucketMissingError,
    CertificateError,
    CredentialsError,
    CredentialsExpiredError,
    S3Error,
    StorageUnavailableError,
)
from kstreams_s3.objects import objects
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
