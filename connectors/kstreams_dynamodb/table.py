"""The DynamoDB sink and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import TypeVar

from typing_extensions import override

from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_dynamodb.items import Attributes
from kstreams_dynamodb.schema import check_table, make_fence
from kstreams_dynamodb.service import Access, Service
from kstreams_dynamodb.writer import TableWriter

__all__ = ("DynamoTable",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class DynamoTable(Sink[K, V]):
    """Writes one item per key to a DynamoDB table, exactly once.

    The last result of a key in a batch is written; None deletes the item. A row is the whole item:
    attributes that it leaves out are removed. Floats become decimal numbers with the same digits.

    Values that DynamoDB rejects (an unsupported type, nan, an item over 400 KB, a key of the table
    or of an index that is empty or has a wrong type) are rejected individually, before anything of
    the batch is written. Items are written in transactions of up to 99 together with the task's
    fence, so readers see a large batch grow. If two writers write the same item, one waits.

    boto3 finds the credentials (environment, profile, role of the machine) unless both keys are
    given here. Given keys are sent to the workers with the app, so prefer a role. The role needs
    the rights DescribeTable, GetItem, PutItem, DeleteItem, and CreateTable if the table of fences
    does not exist yet.

    Args:
        table: The name of the table, which must exist.
        key: The key attributes: the partition key, and the sort key if the table has one.
        row: Builds the attributes of an item from key and value. The record's key is the item's
            key: a tuple if the table has two key attributes.
        region: The region of the table; None uses boto3's configuration.
        endpoint_url: The endpoint, `https://host:port`; None for AWS.
        profile: The profile of boto3's configuration to use.
        access_key: The access key id.
        secret_key: The secret access key.
        session_token: The session token of temporary credentials.
        fence: The sink's own table with the number of rows that each task has written, so that a
            repeated or late attempt changes nothing; `prepare` creates it if it does not exist.
        give_up_after: The maximum time to retry while DynamoDB does not answer or throttles
            requests.

    Raises:
        ValueError: A name is empty, or `key` does not have one or two attributes.
    """

    table: str
    _: KW_ONLY
    key: tuple[str, ...]
    row: Callable[[K, V], Attributes | None]
    region: str | None = None
    endpoint_url: str | None = None
    profile: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    fence: str = "kstreams_fence"
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", tuple(self.key))
        if not self.table or not self.fence or not all(self.key):
            raise ValueError(
                "table, fence= and the names in key= of a DynamoTable must not be empty"
            )
        if len(set(self.key)) != len(self.key) or len(self.key) not in (1, 2):
            raise ValueError(
                f"key={self.key!r}: expected one attribute name, or two different ones"
            )
        if (self.access_key is None) != (self.secret_key is None):
            missing = "access_key=" if self.access_key is None else "secret_key="
            raise ValueError(
                f"{missing} is missing: give both access_key= and secret_key=, or neither"
            )

    def __repr__(self) -> str:
        """Return table, key and fence, without credentials."""
        return f"DynamoTable({self.table!r}, key={self.key!r}, fence={self.fence!r})"

    @property
    @override
    def label(self) -> str:
        return f"dynamodb table {self.table}"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "exactly-once"

    def prepare(self) -> None:
        """Check that the table has the key, and create the table of fences.

        Raises:
            SinkUnavailableError: DynamoDB does not answer.
            SinkError: The table does not exist, has another key, or permissions are missing.
        """
        service = self._service()
        try:
            service.retried(lambda: check_table(service.client, self.table, self.key))
            service.retried(lambda: make_fence(service.client, self.fence))
        finally:
            service.close()

    @override
    def open(self) -> Writer[K, V]:
        return TableWriter(self._service(), self.table, self.fence, self.key, self.row)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing, because items are visible as soon as they are written."""

    def _service(self) -> Service:
        access = Access(
            region=self.region,
            endpoint_url=self.endpoint_url,
            profile=self.profile,
            access_key=self.access_key,
            secret_key=self.secret_key,
            session_token=self.session_token,
        )
        return Service(access, self.give_up_after)
