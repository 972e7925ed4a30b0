"""Results that `every` holds back until the end of their interval.

Users do not define such stores: an aggregation brings one. Views read it.
"""

from __future__ import annotations
