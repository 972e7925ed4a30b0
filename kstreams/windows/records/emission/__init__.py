"""When results go on, record by record: every interval, at most every, once a batch."""

from __future__ import annotations
