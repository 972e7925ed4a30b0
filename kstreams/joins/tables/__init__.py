"""Tables: materialized, derived, aggregated, regrouped and joined."""

from __future__ import annotations
