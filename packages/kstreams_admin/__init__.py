"""Administration of an app from outside: resets, restores, status, and stored rows as text.

`reset.py` removes an app's checkpoint and objects, `changelog_restore.py` rebuilds stores,
`status.py` and `telemetry_reader.py` read the state of an app, `difference.py` compares two
versions of a store, `values.py` converts values to and from text. The commands of `kstreams` and
the server use this package.
"""
