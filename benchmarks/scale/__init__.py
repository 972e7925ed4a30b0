"""Changes of the library's speed, memory and cost with cores, partitions, keys and state.

Start with `runs.py`, which lists the runs of the suite's rounds. `growth.py` measures batches on
growing state, `commits.py` the driver's log. `arithmetic.py` extrapolates to many partitions;
`tables.py` and `plots.py` present the figures.
"""

from __future__ import annotations
