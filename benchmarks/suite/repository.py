"""The path of the repository, for processes that import from it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ("ON_PATH", "ROOT")

ROOT = Path(__file__).parents[2]
ON_PATH = os.pathsep.join(str(ROOT / part) for part in (".", "connectors", "serdes", "stores"))
"""The value of PYTHONPATH."""
