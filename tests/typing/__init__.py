"""What type checkers must accept (`typed_*.py`) and refuse (`wrong_*.py`, lines marked red).

Nothing here is run but `test_checkers.py`, which runs both checkers over the rest.
"""

from __future__ import annotations
