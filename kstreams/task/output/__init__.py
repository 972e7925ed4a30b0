"""Results of a batch: collected, checked, encoded and routed."""

from __future__ import annotations
