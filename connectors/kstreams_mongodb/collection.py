"""A collection as a sink: what a user says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.sinks import CommitId, Guarantee, Writer
from kstreams_mongodb.documents import Fields
from kstreams_mongodb.server import Server, check_address
from kstreams_mongodb.writer import CollectionWriter

__all__ = ("MongoCollection",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class MongoCollection(Generic[K, V]):
    """Keeps a document a key in a collection of MongoDB, effectively once.

    The last result of a key in a batch counts; None deletes the document. A row is the whole
    document: fields that it leaves out go. Each document has a field `kstreams` with the life
    and the number of the batch that it is of, and is replaced by a later batch of that life, or
    by another life, alone. So each document ends as its last result made it; others see the
    documents of a batch one after the other.

    What has no form in MongoDB (a type, more than 16 MB, names with `$`) is refused alone before
    anything of the batch is written. What the server refuses (a validator, another unique
    index) is refused alone too, but others of the batch are written by then, also under
    `on_refused="fail"`.

    Args:
        url: `mongodb://user:password@host:port/` or `mongodb+srv://`. It shows in no text.
        collection: `database.collection`; made with its first document.
        row: Makes the fields of a document from key and value.
        id: Makes the `_id` of a key; the record's key as it is unless given.
        fence: Collection of the fences in the same database, one document a task.
        give_up_after: How long to try again while the server does not answer.

    Raises:
        ValueError: The url or a name is none.
    """

    url: str = field(repr=False)
    collection: str
    _: KW_ONLY
    row: Callable[[K, V], Fields | None]
    id: Callable[[K], object] | None = None
    fence: str = "kstreams_fence"
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        check_address(self.url, self.collection)
        check_address(self.url, self._fences)

    def __repr__(self) -> str:
        """Show all but the address and the functions."""
        return f"MongoCollection({self.collection!r}, fence={self.fence!r})"

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        return f"mongodb collection {self.collection}"

    @property
    def guarantee(self) -> Guarantee:
        """Effectively once."""
        return "effectively-once"

    def prepare(self) -> None:
        """See that the server answers and lets the sink in.

        Raises:
            SinkUnavailableError: It does not answer.
            SinkError: The address, the password or a right is wrong.
        """
        server = Server(self.url, self.give_up_after)
        try:
            server.retried(lambda: server.collection(self._fences).find_one({"_id": ""}))
        finally:
            server.close()

    def open(self) -> Writer[K, V]:
        """Open a writer, which has a client of its own."""
        server = Server(self.url, self.give_up_after)
        return CollectionWriter(server, self.collection, self._fences, self.id, self.row)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing: documents are seen when they are written."""

    @property
    def _fences(self) -> str:
        return f"{self.collection.partition('.')[0]}.{self.fence}"
