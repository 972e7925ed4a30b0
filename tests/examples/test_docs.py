"""The code in the documents runs as it stands there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

_DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", ["stores.md", "windows.md"])
def test_blocks_run_one_after_the_other(name: str, tmp_path: Path) -> None:
    blocks = _BLOCK.findall((_DOCS / name).read_text())
    assert blocks
    program = tmp_path / "program.py"
    program.write_text("\n".join(blocks))
    runpy.run_path(str(program), run_name="program")


def test_the_costs_of_state_on_s3_are_those_of_the_formulas() -> None:
    rows = re.findall(
        r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$",
        (_DOCS / "state-on-s3.md").read_text(),
        re.MULTILINE,
    )
    assert [tasks for tasks, *_ in rows] == ["1", "10", "100"]
    for tasks, *shown in rows:
        count = int(tasks)
        puts, gets, lists = 1.14 * count + 1, 1.14 * count, (count + 3) / 50
        cost = 86_400 * ((puts + lists) * 5 + gets * 0.4) / 1_000_000
        assert shown == [f"{cost / seconds:.2f}" for seconds in (1, 10, 60)]
