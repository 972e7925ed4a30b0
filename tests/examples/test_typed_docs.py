"""mypy accepts the code in the documents as strictly as the library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.test_docs import blocks_of

_ROOT = Path(__file__).parents[2]
_DOCS = _ROOT / "docs"
_FILE = re.compile(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_PAGES = [_ROOT / "README.md", _DOCS / "streams.md", *sorted(_DOCS.glob("migration/*.md"))]
_UNTYPED_ON_PURPOSE = "no-untyped-def"  # docs/streams.md shows the error of such a function


@pytest.mark.long
@pytest.mark.timeout(600)
def test_mypy_accepts_code_of_readme_guide_tutorial_and_migration_pages(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    assert pytestconfig.cache is not None
    for page in _PAGES:
        program = tmp_path / f"{page.stem.replace('-', '_').lower()}_page.py"
        program.write_text("\n".join(blocks_of(page)))
    for name, code in _FILE.findall((_DOCS / "tutorial.md").read_text()):
        (tmp_path / name).write_text(code)
    files = sorted(map(str, tmp_path.glob("*.py")))
    assert len(files) > 10
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--cache-dir", str(pytestconfig.cache.mkdir("mypy"))),
            *("--disable-error-code", _UNTYPED_ON_PURPOSE, "--implicit-reexport", *files),
        ],
        cwd=_ROOT,
        env={**os.environ, "MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
