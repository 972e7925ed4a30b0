"""An index, read by separate requests."""

from __future__ import annotations

import json
import urllib.request
from typing import Any
from uuid import uuid4

from kstreams_opensearch import SearchIndex

__all__ = ("Index",)

_MAPPING = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0},
    "mappings": {"dynamic": False, "properties": {"total": {"type": "integer"}}},
}


class Index:
    """An index with an integer in its mapping.

    Args:
        url: Address of the node.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = f"t{uuid4().hex[:8]}"
        self.ask("PUT", "", _MAPPING)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send a request; return the response."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{self.name}{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def sink(self, **options: Any) -> SearchIndex[Any, Any]:
        """Return a sink to the index."""
        given = {"row": _as_it_is, **options}
        return SearchIndex(self.url, self.name, **given)

    def documents(self) -> dict[str, Any]:
        """Return the sources of all documents by id."""
        self.ask("POST", "/_refresh")
        found = self.ask("POST", "/_search?size=5000", {"query": {"match_all": {}}})
        return {hit["_id"]: hit["_source"] for hit in found["hits"]["hits"]}


def _as_it_is(_key: object, value: Any) -> Any:
    return value if value is None or isinstance(value, (dict, list)) else {"total": value}
