"""Results in a table of Bigtable, a row a key, effectively once.

Read `BigtableRows`. All cells of a batch have a timestamp of their own, later than those of
batches and epochs before: written again they are the same cells, and an older batch that comes
late lies below them. Depends on google-cloud-bigtable and on the core's contracts.

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
