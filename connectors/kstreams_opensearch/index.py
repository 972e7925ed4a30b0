"""The OpenSearch sink and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import TypeVar

from typing_extensions import override

from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_opensearch.lines import Fields
from kstreams_opensearch.service import Service
from kstreams_opensearch.writer import IndexWriter
from kstreams_rows.http import HttpServer

__all__ = ("SearchIndex",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class SearchIndex(Sink[K, V]):
    """Writes one document per key to an OpenSearch or Elasticsearch index, effectively once.

    The last result of a key in a batch is written; None deletes the document. A row is the whole
    document. Documents have an external version made of the epoch and the number of the batch, so
    an earlier result never replaces a later one. Searches find a document after the index's next
    refresh.

    Rows without a JSON form, and ids that are empty or over 512 bytes, are rejected individually
    before anything of the batch is written. Documents that the index rejects (a value that does not
    fit the mapping) are rejected individually too, but other documents of the batch are written by
    then, even with `on_refused="fail"`.

    Args:
        url: The URL of a node or a proxy, `https://user:password@host:9200`. Logs and errors do not
            show it.
        index: The name of the index, which must exist.
        row: Builds the fields of a document from key and value.
        id: Builds the id, a text or an integer, from the key; by default the record's key is used.
        headers: Additional request headers, such as one with an API key; logs and errors do not
            show them.
        own: The name prefix of the sink's own two indexes: `-epochs` with the number of each epoch,
            and `-fence` with the last commit of each task.
        timeout: The maximum time to wait for a connection, and for each part of a response.
        give_up_after: The maximum time to retry while the cluster does not answer, or rejects
            requests because of its load.

    Raises:
        ValueError: The URL, a header or a name is invalid.
    """

    url: str = field(repr=False)
    index: str
    _: KW_ONLY
    row: Callable[[K, V], Fields | None]
    id: Callable[[K], object] | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    own: str = "kstreams"
    timeout: timedelta = timedelta(seconds=30)
    give_up_after: timedelta = timedelta(seconds=60)

    def __post_init__(self) -> None:
        if not self.index or not self.own:
            raise ValueError("the index and own= of a SearchIndex must not be empty")
        self._service()

    def __repr__(self) -> str:
        """Return a text without the address, the headers and the functions."""
        return f"SearchIndex({self.index!r}, own={self.own!r})"

    @property
    @override
    def label(self) -> str:
        return f"search index {self.index}"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "effectively-once"

    def prepare(self) -> None:
        """Check that the index exists, and create the sink's own indexes.

        Raises:
            SinkUnavailableError: The cluster does not answer.
            SinkError: The index does not exist, the login is wrong, or permissions are missing.
        """
        service = self._service()
        try:
            service.retried(lambda: service.prepare(self.index))
        finally:
            service.close()

    @override
    def open(self) -> Writer[K, V]:
        return IndexWriter(self._service(), self.index, self.id, self.row)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing, because documents are visible as soon as they are written."""

    def _service(self) -> Service:
        server = HttpServer(self.url, self.headers, self.timeout)
        return Service(server, self.own, self.give_up_after)
