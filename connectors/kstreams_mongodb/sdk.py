"""The only module that imports pymongo."""

from __future__ import annotations

try:
    import bson
    from bson.errors import InvalidDocument
    from pymongo import DeleteOne, MongoClient, ReplaceOne, WriteConcern, errors
    from pymongo.collection import Collection
except ImportError as error:
    raise ImportError("MongoDB needs its client: pip install 'kstreams-spark[mongodb]'") from error

__all__ = (
    "Collection",
    "DeleteOne",
    "InvalidDocument",
    "MongoClient",
    "ReplaceOne",
    "WriteConcern",
    "bson",
    "errors",
)
