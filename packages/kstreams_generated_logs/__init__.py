"""Generated logs: lists and numbers as records, for tests, demonstrations and load.

Read `items` first, then `rate`. Both are a `NumberedLog`: the number of a record determines its
content.
"""

from __future__ import annotations
