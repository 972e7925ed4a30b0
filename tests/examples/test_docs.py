"""The code in the documents runs as it stands there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

_DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", ["windows.md"])
def test_blocks_run_one_after_the_other(name: str, tmp_path: Path) -> None:
    blocks = _BLOCK.findall((_DOCS / name).read_text())
    assert blocks
    program = tmp_path / "program.py"
    program.write_text("\n".join(blocks))
    runpy.run_path(str(program), run_name="program")
