"""Results in MongoDB, effectively once.

Read `MongoCollection` first: a sink that writes one document per key. Each document stores its
commit, so that a document of an earlier commit never replaces one of a later commit. Depends on
pymongo and on the core's contracts, not on Spark.

Example:
    >>> from kstreams_mongodb import MongoCollection
    >>> totals = MongoCollection(
    ...     "mongodb://app:secret@db",
    ...     "shop.totals",
    ...     row=lambda word, total: {"total": total},
    ... )
    >>> totals.guarantee
    'effectively-once'
    >>> totals
    MongoCollection('shop.totals', fence='kstreams_fence')
"""

from __future__ import annotations

from kstreams_mongodb.collection import MongoCollection
from kstreams_mongodb.documents import Fields

__all__ = ("Fields", "MongoCollection")
