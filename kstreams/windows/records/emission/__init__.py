"""When results are forwarded, record by record: an emitter for each emission."""

from __future__ import annotations
