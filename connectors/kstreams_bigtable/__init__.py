"""Results in a Bigtable table, one row per key, effectively once.

Read `BigtableRows`. All cells of a batch have one timestamp, later than those of earlier
batches and epochs: a repeated write creates the same cells, and a late write of an older batch does
not replace newer cells. Depends on google-cloud-bigtable and on the core's contracts.

Example:
    >>> from kstreams_bigtable import BigtableRows
    >>> totals = BigtableRows(
    ...     "shop",
    ...     "main",
    ...     "totals",
    ...     row=lambda word, total: {"sums:total": total},
    ... )
    >>> totals.guarantee
    'effectively-once'
    >>> totals
    BigtableRows('shop', 'main', 'totals', fence='kstreams_fence')
"""

from __future__ import annotations

from kstreams_bigtable.rows import Cells
from kstreams_bigtable.table import BigtableRows

__all__ = ("BigtableRows", "Cells")
