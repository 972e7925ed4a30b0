"""The demo, as `make demo` runs it, and its topology by the command line on a broker."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from shutil import copy2

import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams import Kafka

EXAMPLE = Path(__file__).parents[2] / "examples" / "word_count.py"
KSTREAMS = str(Path(sys.executable).with_name("kstreams"))


def run(folder: Path, *command: str, text: str | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_word_count_example_checks_its_counts(tmp_path: Path) -> None:
    *words, last = run(tmp_path, sys.executable, str(EXAMPLE)).splitlines()
    assert last == "equal to a plain count: yes"
    assert words[0].split()[1] == "the"
    assert len(words) == 10


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_word_count_topology_runs_on_a_broker(tmp_path: Path, broker: KafkaBroker) -> None:
    copy2(EXAMPLE, tmp_path)
    there = ("--bootstrap", broker.bootstrap)
    for topic in ("lines", "totals"):
        run(tmp_path, KSTREAMS, "topics", "create", topic, "--partitions", "2", *there)
    text = "1\tto be or not to be\n2\tthat is the question\n3\tbe that as it may\n"
    run(tmp_path, KSTREAMS, "topics", "produce", "lines", *there, text=text)
    run(tmp_path, KSTREAMS, "run", EXAMPLE.name, "--until", "end", *there)
    assert run(tmp_path, KSTREAMS, "state", "get", "word-count", "counts", "be").split()[0] == "3"
    with closing(Kafka(broker.bootstrap).admin()) as admin:
        for topic in ("lines", "totals"):  # other tests use these names on this broker
            admin.delete(topic)
