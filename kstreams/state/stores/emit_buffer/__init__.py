"""The store of the results that `every` holds back until the end of their interval.

Users do not define this store: a windowed aggregation adds it. Views can read it.
"""

from __future__ import annotations
