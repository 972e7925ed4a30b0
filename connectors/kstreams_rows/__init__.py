"""What sinks that keep rows share: rows of results, refusals, another try, and the fence.

For connectors alone: none of it is what a user of one writes. `encoding` makes rows of results
and says which are none; `refusing` makes what is said of those; `retrying` tries again what may
pass, and keeps secrets out of errors; `fence` writes rows once into a place that moves a fence
together with some rows. Depends on the core's contracts alone.
"""

from __future__ import annotations
