"""How this library's speed, memory and cost change with cores, partitions, keys and state.

Read `runs.py` first: it lists what is run by the suite's own rounds. `growth.py` measures batches
on more and more state, `commits.py` the driver's log; `arithmetic.py` says what follows for many
partitions, `tables.py` and `plots.py` show it all.
"""

from __future__ import annotations
