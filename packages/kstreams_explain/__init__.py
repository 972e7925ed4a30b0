"""Replay committed batches to explain why a key has its value and where a record went.

A replay uses the plan of the batch, the pointers of the previous commit and the recorded wall time,
so each task does the same work again. A replay writes nothing. Read `explained.explain_key` and
`traced.trace_record` first: the command line, `kstreams serve` and its pages show their results.
`audit.py` compares the changes of a replay with the committed changes. This package does not import
pyspark.
"""

from __future__ import annotations
