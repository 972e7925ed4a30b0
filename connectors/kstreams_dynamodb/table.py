"""A table as a sink: what a user says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.sinks import CommitId, Guarantee, Writer
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
class DynamoTable(Generic[K, V]):
    """Keeps an item a key in a table of DynamoDB, exactly once.

    The last result of a key in a batch counts; None deletes the item. A row is the whole item:
    attributes that it leaves out go. Floats become the decimal numbers that they are written as.

    What DynamoDB does not take (a type, nan, more than 400 KB, a key of another type or empty,
    also of an index) is refused alone, before anything of the batch is written. Items go in by
    up to 99 in one transaction with the task's fence: others see a large batch grow. Where two
    writers meet in an item, one waits.

    Credentials are boto3's business (environment, profile, role of the machine) unless both
    keys are given here; given ones travel to the workers inside the app, so a role is better.
    It needs the rights to DescribeTable, GetItem, PutItem, DeleteItem, and to CreateTable where
    the fences' table is not there yet.

    Args:
        table: Name of the table. It has to be there.
        key: Attributes of its key: the partition key, and the sort key if there is one.
        row: Makes the attributes of an item from key and value. The record's key is that of the
            item: a tuple where that has two attributes.
        region: The table's region; None leaves it to boto3.
        endpoint_url: Where DynamoDB answers, `https://host:port`; None is AWS.
        profile: Which profile of boto3's configuration to use.
        access_key: Public part of given credentials.
        secret_key: Secret part of given credentials.
        session_token: Third part of given temporary credentials.
        fence: Table of the fences, one item a task; made by `prepare` if it is not there.
        give_up_after: How long to try again while DynamoDB does not answer or has no room.

    Raises:
        ValueError: A name is empty, or the key has none, or more than two, attributes.
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
            raise ValueError("a DynamoTable needs names of a table, of a key and of a fence")
        if len(set(self.key)) != len(self.key) or len(self.key) not in (1, 2):
            raise ValueError(f"a key has one attribute or two: {self.key!r}")
        if (self.access_key is None) != (self.secret_key is None):
            raise ValueError("access_key and secret_key go together")

    def __repr__(self) -> str:
        """Show all but credentials and the function."""
        return f"DynamoTable({self.table!r}, key={self.key!r}, fence={self.fence!r})"

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        return f"dynamodb table {self.table}"

    @property
    def guarantee(self) -> Guarantee:
        """Exactly once."""
        return "exactly-once"

    def prepare(self) -> None:
        """See that the table has the key, and make the table of fences.

        Raises:
            SinkUnavailableError: DynamoDB does not answer.
            SinkError: The table is not there, has another key, or the rights are missing.
        """
        service = self._service()
        try:
            service.retried(lambda: check_table(service.client, self.table, self.key))
            service.retried(lambda: make_fence(service.client, self.fence))
        finally:
            service.close()

    def open(self) -> Writer[K, V]:
        """Open a writer, which has a client of its own."""
        return TableWriter(self._service(), self.table, self.fence, self.key, self.row)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing: items are seen when they are written."""

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
