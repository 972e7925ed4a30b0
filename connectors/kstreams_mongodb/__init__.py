"""Results in MongoDB, effectively once.

Read `MongoCollection` first: a sink that keeps a document a key. Each document says which commit
it is of, and none takes the place of a later one's. Depends on pymongo and on the core's
contracts, on nothing of Spark.

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
