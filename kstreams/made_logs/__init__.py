"""Logs of records that nobody has to put anywhere: for tests, demonstrations and load.

Read `items` first, then `rate`. Both are a `NumberedLog`: what a record is follows from its number.
"""

from __future__ import annotations
