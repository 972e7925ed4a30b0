"""Write a task's results of a batch, in transactions of items and the fence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from kstreams import Record
from kstreams.errors import SinkError
from kstreams.sinks import CommitId, Results, Writer
from kstreams_dynamodb.items import Attributes, Item, ItemMaker, Key, formed_key
from kstreams_dynamodb.schema import LANE, POSITION, check_table
from kstreams_dynamodb.sdk import exceptions
from kstreams_dynamodb.service import Service, reasons_of
from kstreams_rows.encoding import Change, fitting, lasts, made
from kstreams_rows.fence import Position, write_once
from kstreams_rows.refusing import Refusals

if TYPE_CHECKING:
    from types_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

__all__ = ("TableWriter",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_ITEMS_AT_ONCE = 99
"""The maximum number of items per transaction: DynamoDB's 100, minus one for the fence."""
_BYTES_AT_ONCE = 3_500_000


class TableWriter(Writer[K, V]):
    """A `Writer` that writes items and the task's fence together, as `FencedPlace` requires.

    Args:
        service: The client of DynamoDB.
        table: The table.
        fence: The table of fences.
        key: The key attributes of the table.
        row: Builds the attributes of an item.
    """

    def __init__(
        self,
        service: Service,
        table: str,
        fence: str,
        key: tuple[str, ...],
        row: Callable[[K, V], Attributes | None],
    ) -> None:
        self._service = service
        self._table = table
        self._fence = fence
        self._key = key
        self._row = row

    @override
    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        maker = self._maker
        found, wrong = made(results.records(), lambda record: self._change(maker, record))
        Refusals(results, "DynamoDB").reject(wrong)
        rows = lasts(found)
        self._service.retried(lambda: write_once(self, commit, rows))
        return ()

    @override
    def close(self) -> None:
        self._service.close()

    def position(self, lane: str) -> Position | None:
        """Return the position of a task's fence; None before its first row.

        Args:
            lane: The id of epoch, sink and task; see `lane_of`.
        """
        found = self._service.client.get_item(
            TableName=self._fence, Key={LANE: {"S": lane}}, ConsistentRead=True
        )
        item = found.get("Item")
        return Position.of(item[POSITION].get("S", "")) if item else None

    def fitting(self, rows: Sequence[Change[Key, Item]], start: int) -> int:
        """Return the index after the last row that fits into a transaction from `start` on."""
        return fitting(rows, start, _ITEMS_AT_ONCE, _BYTES_AT_ONCE)

    def apply(
        self,
        lane: str,
        rows: Sequence[Change[Key, Item]],
        was: Position | None,
        now: Position,
    ) -> bool:
        """Write items and move the fence to `now`, in one transaction.

        Returns:
            False, without any change, if the fence is not at `was`; else True.
        """
        items = [self._moved(lane, was, now), *map(self._written, rows)]
        try:
            self._service.client.transact_write_items(TransactItems=items)
        except exceptions.ClientError as exc:
            reasons = reasons_of(exc)
            if reasons and reasons[0].get("Code") == "ConditionalCheckFailed":
                return False
            for reason, change in zip(reasons[1:], rows, strict=False):
                if reason.get("Code") == "ValidationError":
                    raise SinkError(
                        f"table {self._table!r} rejects the item {change.key}: "
                        f"{reason.get('Message', '')}",
                        "ValidationError",
                        hint="return items from row= that the table and its indexes accept.",
                    ) from None
            raise
        return True

    def _moved(self, lane: str, was: Position | None, now: Position) -> TransactWriteItemTypeDef:
        item = {LANE: {"S": lane}, POSITION: {"S": str(now)}}
        if was is None:
            return {
                "Put": {
                    "TableName": self._fence,
                    "Item": item,
                    "ConditionExpression": "attribute_not_exists(#lane)",
                    "ExpressionAttributeNames": {"#lane": LANE},
                }
            }
        return {
            "Put": {
                "TableName": self._fence,
                "Item": item,
                "ConditionExpression": "#position = :was",
                "ExpressionAttributeNames": {"#position": POSITION},
                "ExpressionAttributeValues": {":was": {"S": str(was)}},
            }
        }

    def _written(self, change: Change[Key, Item]) -> TransactWriteItemTypeDef:
        if change.row is None:
            return {"Delete": {"TableName": self._table, "Key": formed_key(change.key)}}
        return {"Put": {"TableName": self._table, "Item": change.row}}

    def _change(self, maker: ItemMaker, record: Record[Any, Any]) -> Change[Key, Item]:
        return maker.change(record, self._row(record.key, record.value))

    @cached_property
    def _maker(self) -> ItemMaker:
        """The item maker, with the key types that the table had at the first use."""
        types = self._service.retried(
            lambda: check_table(self._service.client, self._table, self._key)
        )
        return ItemMaker(self._key, types)
