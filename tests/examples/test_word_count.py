"""The demo, as `make demo` runs it: on embedded topics, and on a broker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker

EXAMPLE = Path(__file__).parents[2] / "examples" / "word_count.py"


def count_words(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    text = folder / "text"
    text.mkdir()
    (text / "one.txt").write_text("to be or not to be\n\nthat is the question\n")
    (text / "two.txt").write_text("be that as it may\n")
    command = [sys.executable, str(EXAMPLE), "--input", str(text), "--top", "2", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_it_counts_draws_and_proves_itself_on_embedded_topics(tmp_path: Path) -> None:
    done = count_words(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "top 2 of 11 words" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1] == "equal to a plain count: yes"
    assert (tmp_path / "word-count.mmd").read_text().startswith("flowchart")


@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_it_counts_on_a_broker(tmp_path: Path, broker: KafkaBroker) -> None:
    done = count_words(tmp_path, "--bootstrap", broker.bootstrap, "--partitions", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "equal to a plain count: yes"
