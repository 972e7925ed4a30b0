"""The MongoDB sink and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import TypeVar

from typing_extensions import override

from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_mongodb.documents import Fields
from kstreams_mongodb.server import Server, check_address
from kstreams_mongodb.writer import CollectionWriter

__all__ = ("MongoCollection",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class MongoCollection(Sink[K, V]):
    """Writes one document per key to a MongoDB collection, effectively once.

    The last result of a key in a batch is written; None deletes the document. A row is the whole
    document: fields that it leaves out are removed. Each document has a field `kstreams` with the
    epoch and the number of its batch; only a later batch of that epoch, or another epoch, replaces
    it. So each document ends with its last result. Readers see the documents of a batch appear one
    after the other.

    Values that MongoDB cannot store (an unsupported type, a document over 16 MB, names with `$`)
    are rejected individually before anything of the batch is written. Documents that the server
    rejects (a validator, another unique index) are rejected individually too, but other documents
    of the batch are written by then, even with `on_refused="fail"`.

    Args:
        url: `mongodb://user:password@host:port/` or `mongodb+srv://`. Logs and errors do not show
            it.
        collection: `database.collection`; created with its first document.
        row: Builds the fields of a document from key and value.
        id: Builds the `_id` from the key; by default the record's key is used.
        fence: The sink's own collection in the same database, with the last commit of each task,
            so that a late attempt of an earlier batch writes nothing.
        give_up_after: The maximum time to retry while the server does not answer.

    Raises:
        ValueError: The URL or a name is invalid.
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
        """Return a text without the address and the functions."""
        return f"MongoCollection({self.collection!r}, fence={self.fence!r})"

    @property
    @override
    def label(self) -> str:
        return f"mongodb collection {self.collection}"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "effectively-once"

    @override
    def prepare(self) -> None:
        server = Server(self.url, self.give_up_after)
        try:
            server.retried(lambda: server.collection(self._fences).find_one({"_id": ""}))
        finally:
            server.close()

    @override
    def open(self) -> Writer[K, V]:
        server = Server(self.url, self.give_up_after)
        return CollectionWriter(server, self.collection, self._fences, self.id, self.row)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing, because documents are visible as soon as they are written."""

    @property
    def _fences(self) -> str:
        return f"{self.collection.partition('.')[0]}.{self.fence}"
