"""Shared parts of connectors: rows, rejections, retries and fences.

Only connectors use this package; users of a connector do not. `encoding` builds rows from results
and finds invalid ones; `refusing` describes them; `retrying` retries temporary failures and keeps
secrets out of errors; `fence` writes rows once into a store that moves a fence together with rows.
For tables of files: `column_types` and `columnar` convert types and rows to columns, `table_writer`
and `staging` write files that readers do not see, `publishing` adds the files of a batch to a table
once, and `file_table` is the base of such sinks. Depends on the core's contracts and pyarrow only.
"""

from __future__ import annotations
