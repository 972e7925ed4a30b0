"""Run committed batches again, to say why a key has its value and where a record went.

A batch's plan, the pointers of the commit that it follows and its recorded wall time make each
of its tasks do again what it did; nothing is written anywhere. Read `explained.explain_key` and
`traced.trace_record` first: what they return is what the command line, `kstreams serve` and its
pages show. `audit.py` compares what batches would change now with what they have changed.
Imports no pyspark.
"""

from __future__ import annotations
