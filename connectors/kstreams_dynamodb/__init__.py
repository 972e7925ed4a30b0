"""Results in DynamoDB, exactly once.

Read `DynamoTable` first: a sink that writes one item per key. A transaction writes items together
with a fence, which stores how many rows of a task are written, so that a repeated or late attempt
changes nothing. Depends on boto3 and on the core's contracts, not on Spark.

Example:
    >>> from kstreams_dynamodb import DynamoTable
    >>> totals = DynamoTable(
    ...     "totals",
    ...     key=("word",),
    ...     row=lambda word, total: {"total": total},
    ...     region="eu-central-1",
    ... )
    >>> totals.guarantee
    'exactly-once'
    >>> totals
    DynamoTable('totals', key=('word',), fence='kstreams_fence')
"""

from __future__ import annotations

from kstreams_dynamodb.items import Attributes
from kstreams_dynamodb.table import DynamoTable

__all__ = ("Attributes", "DynamoTable")
