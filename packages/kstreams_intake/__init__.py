"""Sources whose messages come once: what comes is in a topic before it is settled.

`contract.py` is what a source has to be, `runner.py` the one that takes its messages into a topic:
`appending.py` writes them, `known_ids.py` recognises those that come again, by the headers of
`marks.py`. Nothing here imports pyspark.
"""

from __future__ import annotations
