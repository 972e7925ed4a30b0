"""Typing tests: code that type checkers accept (`typed_*.py`) and refuse (`wrong_*.py`).

Lines to be refused end with the comment `red`. Only `test_checkers.py` is run, which runs both
checkers on the other files.
"""

from __future__ import annotations
