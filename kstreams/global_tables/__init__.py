"""Global tables, which every task reads by any key: versions of a batch, and copies in workers.

A global table of a topic is a query of its own, with tasks and state like other queries. A table of
another app is read at a commit of that app. On the driver, `versions.py` chooses the commit that a
batch reads, from a source in `sources.py`. In workers, `open_tables.py` moves a copy to the commit
(`host_copies.py` shares copies between processes), and `table.py` reads the copy.
"""
