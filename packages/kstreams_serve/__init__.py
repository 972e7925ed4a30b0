"""Serves queries on committed state over HTTP, in a separate process.

Start with `server.py`: `Server(settings, apps)`. `ServedApp` (`served_app.py`) keeps the stores
of one app open, `api.py` has the actions of the routes in `routes.py`, and `guard.py` checks
access. Nothing here imports pyspark, runs user code except serdes, takes a lock of an app or writes
to its checkpoint. Needs the extra `serve`.
"""

from __future__ import annotations
