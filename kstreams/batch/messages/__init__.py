"""Messages between the driver and the tasks of a batch: calls, records, refusals and statuses."""

from __future__ import annotations
