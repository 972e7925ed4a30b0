"""Answers queries over HTTP from committed state, in a process of its own.

`server.py` is where it begins: `Server(settings, apps)`. `ServedApp` (`served_app.py`) keeps the
stores of one app at hand, `api.py` has the actions behind the routes of `routes.py`, and `guard.py`
decides who may come in. Nothing here imports pyspark, runs user code but serdes, takes a lock of
an app or writes to its checkpoint. Needs the extra `serve`.
"""

from __future__ import annotations
