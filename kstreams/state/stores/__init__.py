"""The typed stores: one folder for each kind, with the same files in each.

`store.py` has the class for users, `rows.py` the operations of the engine, `columns.py` the same
operations for many rows at once, `kind.py` the `StoreKind` and the function that defines a store,
`changelog.py` the format of changelog records. Read `state_store.py` first, then `kind.py`.
"""

from __future__ import annotations
