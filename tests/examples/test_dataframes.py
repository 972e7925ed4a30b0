"""The example of DataFrames runs as a program with a plain Spark session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_EXAMPLE = Path(__file__).parents[2] / "examples" / "dataframes.py"


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_dataframes_example_shows_results_of_both_sinks(tmp_path: Path) -> None:
    python = {**os.environ, "PYSPARK_PYTHON": sys.executable}  # as in an activated environment
    command = [sys.executable, str(_EXAMPLE)]
    done = subprocess.run(
        command, cwd=tmp_path, env=python, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert [line for line in shown if line.startswith("batch ")] == [
        "batch 0: /home 2 visits",
        "batch 0: bob signed up",
    ]
