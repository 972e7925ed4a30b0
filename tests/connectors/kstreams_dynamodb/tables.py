"""Tables and sinks of the tests."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import boto3

from kstreams_dynamodb import Attributes, DynamoTable

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBServiceResource

__all__ = ("SECRET", "Tables")

SECRET = "s3cret-of-tests"


class Tables:
    """A table with another one for the fence.

    Args:
        url: Address of the server.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = f"t{uuid4().hex[:8]}"

    def make(self, *key: str, types: str = "SS", index: str = "") -> None:
        """Create the table; `index` is a numeric attribute that is the key of an index."""
        attributes = [_typed(name, kind) for name, kind in zip(key, types, strict=False)]
        options: dict[str, Any] = {}
        if index:
            attributes.append(_typed(index, "N"))
            options["GlobalSecondaryIndexes"] = [
                {
                    "IndexName": "by_" + index,
                    "KeySchema": _schema(index),
                    "Projection": {"ProjectionType": "ALL"},
                }
            ]
        self.resource.create_table(
            TableName=self.name,
            KeySchema=_schema(*key),
            AttributeDefinitions=attributes,
            BillingMode="PAY_PER_REQUEST",
            **options,
        )

    def sink(self, **options: Any) -> DynamoTable[Any, Any]:
        """Return a sink to the table."""
        given: dict[str, Any] = {
            "key": ("word",),
            "row": _as_it_is,
            "region": "us-east-1",
            "endpoint_url": self.url,
            "access_key": "tests",
            "secret_key": SECRET,
            "fence": f"{self.name}-fence",
        }
        return DynamoTable(self.name, **{**given, **options})

    def items(self, table: str = "") -> list[dict[str, Any]]:
        """Return all items of a table."""
        found: list[dict[str, Any]] = []
        start: dict[str, Any] = {}
        while True:
            page = self.resource.Table(table or self.name).scan(ConsistentRead=True, **start)
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    @cached_property
    def resource(self) -> DynamoDBServiceResource:
        """A client that is independent of the library."""
        session = boto3.session.Session("tests", "other", region_name="us-east-1")
        return session.resource("dynamodb", endpoint_url=self.url)


def _typed(name: str, kind: str) -> Any:
    return {"AttributeName": name, "AttributeType": kind}


def _schema(*key: str) -> Any:
    kinds = ("HASH", "RANGE")
    return [{"AttributeName": n, "KeyType": k} for n, k in zip(key, kinds, strict=False)]


def _as_it_is(_key: object, value: Any) -> Attributes | None:
    return None if value is None else value if isinstance(value, dict) else {"total": value}
