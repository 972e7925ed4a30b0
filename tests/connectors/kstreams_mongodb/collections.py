"""A database with a collection, read by a separate client."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from pymongo import MongoClient
from pymongo.collection import Collection

from kstreams_mongodb import Fields, MongoCollection

__all__ = ("Place",)


class Place:
    """A database that is empty at first.

    Args:
        url: Address of the server.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._client: MongoClient[dict[str, Any]] = MongoClient(url)
        self._name = f"d{uuid4().hex[:8]}"

    @property
    def totals(self) -> Collection[dict[str, Any]]:
        """The collection that sinks write to."""
        return self._client[self._name]["totals"]

    def sink(self, **options: Any) -> MongoCollection[Any, Any]:
        """Return a sink to the collection."""
        given = {"row": _as_it_is, **options}
        return MongoCollection(self.url, f"{self._name}.totals", **given)

    def documents(self) -> dict[Any, dict[str, Any]]:
        """Return all documents by `_id`, without the fields of the sink."""
        found: dict[Any, dict[str, Any]] = {}
        for document in self.totals.find():
            document.pop("kstreams")
            found[document.pop("_id")] = document
        return found

    def close(self) -> None:
        """Close the client."""
        self._client.close()


def _as_it_is(_key: object, value: Any) -> Fields | None:
    return value if value is None or isinstance(value, dict) else {"total": value}
