"""Results in OpenSearch or Elasticsearch, effectively once.

Read `SearchIndex` first: a sink that writes one document per key. The version of a document is
derived from its batch, so that an earlier document never replaces a later one. Depends on the
core's contracts alone.

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
