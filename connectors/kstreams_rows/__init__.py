"""What sinks that keep rows share: rows of results, refusals, another try, and the fence.

For connectors alone: none of it is what a user of one writes. `encoding` makes rows of results
and says which are none; `refusing` makes what is said of those; `retrying` tries again what may
pass, and keeps secrets out of errors; `fence` writes rows once into a place that moves a fence
together with some rows. For tables of files: `column_types` and `columnar` make columns of types
and rows, `table_writer` and `staging` write files that nobody sees, `publishing` gives a table
those of a batch once, `file_table` is such a sink. Depends on the core's contracts and pyarrow
alone.
"""

from __future__ import annotations
