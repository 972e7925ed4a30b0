"""Intakes: sources that deliver each message once, and a runner that writes messages to a topic.

`contract.py` is the interface of a source, `runner.py` writes its messages to a topic before it
settles them: `appending.py` writes records, `known_ids.py` recognizes repeated messages by the
headers of `marks.py`. This package does not import pyspark.
"""

from __future__ import annotations
