"""The key of a table, and the table of fences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams.errors import SinkError
from kstreams_dynamodb.items import KeyType
from kstreams_dynamodb.sdk import exceptions
from kstreams_dynamodb.service import code_of

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

__all__ = ("LANE", "POSITION", "check_table", "make_fence")

LANE = "lane"
"""The key attribute of a fence: the lane, which all commits of a task share."""
POSITION = "position"
"""The attribute that stores the position of a fence."""

_MISSING = "ResourceNotFoundException"
_THERE = "ResourceInUseException"


def check_table(client: DynamoDBClient, table: str, key: tuple[str, ...]) -> dict[str, KeyType]:
    """Return the types of all attributes that are in a key of a table or of its indexes.

    Raises:
        SinkError: The table does not exist, or has another key.
    """
    try:
        found = client.describe_table(TableName=table)["Table"]
    except exceptions.ClientError as exc:
        if code_of(exc) != _MISSING:
            raise
        raise SinkError(
            f"there is no table {table!r} in DynamoDB",
            _MISSING,
            hint="create it, or correct its name, region= or the account.",
        ) from None
    parts = sorted(found.get("KeySchema", ()), key=lambda part: part["KeyType"])
    has = tuple(part["AttributeName"] for part in parts)  # HASH comes before RANGE
    if has != key:
        raise SinkError(
            f"the key of table {table!r} is {has!r}, not key={key!r}",
            hint="set key= to the key attributes of the table, the partition key first.",
        )
    return {
        each["AttributeName"]: each["AttributeType"]
        for each in found.get("AttributeDefinitions", ())
    }


def make_fence(client: DynamoDBClient, fence: str) -> None:
    """Create the table of fences and wait until it is active, unless it exists."""
    try:
        client.describe_table(TableName=fence)
    except exceptions.ClientError as exc:
        if code_of(exc) != _MISSING:
            raise
    else:
        return
    try:
        client.create_table(
            TableName=fence,
            KeySchema=[{"AttributeName": LANE, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": LANE, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    except exceptions.ClientError as exc:
        if code_of(exc) != _THERE:
            raise
    client.get_waiter("table_exists").wait(TableName=fence, WaiterConfig={"Delay": 1})
