"""Results in OpenSearch or Elasticsearch, effectively once.

Read `SearchIndex` first: a sink that keeps a document a key. The version of a document is made of
the batch that it is of, so that none takes the place of a later one. Depends on the core's
contracts alone.

Example:
    >>> from kstreams_opensearch import SearchIndex
    >>> orders = SearchIndex(
    ...     "https://app:secret@search:9200",
    ...     "orders",
    ...     row=lambda key, text: {"text": text},
    ... )
    >>> orders.guarantee
    'effectively-once'
    >>> orders
    SearchIndex('orders', own='kstreams')
"""

from __future__ import annotations

from kstreams_opensearch.index import SearchIndex
from kstreams_opensearch.lines import Fields

__all__ = ("Fields", "SearchIndex")
