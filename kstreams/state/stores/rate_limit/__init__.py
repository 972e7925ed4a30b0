"""Results that `at_most_every` holds back until their key may be forwarded again.

Users do not define such stores: an aggregation brings one. Views read it.
"""

from __future__ import annotations
