"""Global tables, which every task reads by any key: their versions, and copies in workers.

A separate query, with tasks and state like other queries, fills the global table of a topic. A
table of another app is read at a commit of that app. On the driver, `versions.py` chooses the
commit that a batch reads, from a source in `sources.py`. In workers, `open_tables.py` updates a
copy to the commit (`host_copies.py` shares copies between processes), and `table.py` reads it.
"""
