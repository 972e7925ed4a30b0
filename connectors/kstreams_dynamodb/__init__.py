"""Results in DynamoDB, exactly once.

Read `DynamoTable` first: a sink that keeps an item a key. A transaction writes some items together
with a fence that says how far a task's rows are written, so that an attempt that comes again, or
late, changes nothing. Depends on boto3 and on the core's contracts, on nothing of Spark.

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
