"""The store of the results that `at_most_every` holds back until their key may be forwarded.

Users do not define this store: a windowed aggregation adds it. Views can read it.
"""

from __future__ import annotations
