"""An index as a sink: what a user says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.sinks import CommitId, Guarantee, Writer
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
class SearchIndex(Generic[K, V]):
    """Keeps a document a key in an index of OpenSearch or Elasticsearch, effectively once.

    The last result of a key in a batch counts; None deletes the document. A row is the whole
    document. Its version is external, made of the life and the number of the batch that it is of:
    none takes the place of a later one, and each ends as its last result made it. Searches see a
    document after the index's next refresh.

    What has no form in JSON, and ids of no or more than 512 bytes, are refused alone before
    anything of the batch is written. What the index refuses (a value that does not fit the
    mapping) is refused alone too, but others of the batch are written by then, also under
    `on_refused="fail"`.

    Args:
        url: Of one node or a proxy, `https://user:password@host:9200`. It shows in no text.
        index: Name of the index; it has to be there.
        row: Makes the fields of a document from key and value.
        id: Makes the id of a key, a text or an integer; the record's key unless given.
        headers: Of each request, such as one with an API key; they show in no text.
        own: What the names of two indexes of the sink's own begin with, `-lives` and `-fence`.
        timeout: How long to wait for a connection, and for each part of an answer.
        give_up_after: How long to try again while the cluster does not answer or has no room.

    Raises:
        ValueError: The url, a header or a name is none.
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
            raise ValueError("a SearchIndex needs names of an index and of its own")
        self._service()

    def __repr__(self) -> str:
        """Show all but the address, the headers and the functions."""
        return f"SearchIndex({self.index!r}, own={self.own!r})"

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        return f"search index {self.index}"

    @property
    def guarantee(self) -> Guarantee:
        """Effectively once."""
        return "effectively-once"

    def prepare(self) -> None:
        """See that the index is there, and make the sink's own.

        Raises:
            SinkUnavailableError: The cluster does not answer.
            SinkError: The index is not there, or login or rights are wrong.
        """
        service = self._service()
        try:
            service.retried(lambda: service.prepare(self.index))
        finally:
            service.close()

    def open(self) -> Writer[K, V]:
        """Open a writer, which has a connection of its own."""
        return IndexWriter(self._service(), self.index, self.id, self.row)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing: documents are there when they are written."""

    def _service(self) -> Service:
        server = HttpServer(self.url, self.headers, self.timeout)
        return Service(server, self.own, self.give_up_after)
