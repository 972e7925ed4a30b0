"""Tables that every task reads by any key: which version a batch reads, and copies of it.

A global table of a topic is a query of its own, with tasks and state like any other; one of
another app is read as that app has committed it. On the driver `versions.py` says which commit
a batch reads (`sources.py`); in workers `host_copies.py` and `process_copies.py` bring a copy to
it, and `table.py` reads the copy.
"""
