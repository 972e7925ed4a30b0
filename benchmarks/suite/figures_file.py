"""Write a JSON file of figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ("write_figures",)


def write_figures(path: Path, figures: Mapping[str, Any]) -> None:
    """Write plain data to a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(figures, indent=1))
    temporary.replace(path)
