"""The C extension stays within its buffers, frees its memory, and agrees with a plain model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.native import fuzz
from tests.native.sanitized_build import ROOT, NoSanitizerError, compiled

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_random_messages_and_columns_pass_under_sanitizers(tmp_path: Path) -> None:
    """Run a short, reproducible series; `make fuzz` runs others."""
    try:
        library, environment = compiled(tmp_path)
    except NoSanitizerError as exc:
        pytest.skip(str(exc))
    line = fuzz.command(library, seed=1, rounds=250)
    done = subprocess.run(
        line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
