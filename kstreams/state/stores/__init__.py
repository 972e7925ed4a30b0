"""The typed stores, a folder for each kind, with the same files in each.

`store.py` is what users see, `rows.py` what the engine does, `columns.py` the same for many rows at
once; `kind.py` says all that the rest of the library asks about the kind, and has its definition;
`changelog.py` is its form as records. Read `state_store.py` first, then `kind.py`.
"""

from __future__ import annotations
