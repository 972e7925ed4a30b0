"""The lines printed if the user code of an app raises an exception."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kstreams import TEXT, Embedded, Emitter, Topic

_MOST_LINES = 15
_SCRIPT = """
from kstreams import INT64, TEXT, App, Embedded, Topic, TopologyBuilder
from kstreams.operators import map_values

def parse(value):
    return [
        number(part) + 1 for part in value.split()
    ][0]

def number(value):
    return (1 +
            int(value))

builder = TopologyBuilder("failing")
source = builder.add_source("words", Topic("words", TEXT, TEXT))
node = builder.add_processor("parse", map_values(parse), source)
builder.add_sink("totals", Topic("totals", TEXT, INT64), node)
topology = builder.build()

if __name__ == "__main__":
    App(topology, Embedded("data")).run(until="end")
"""
_COMMAND = ["-c", "from kstreams_cli import main; main()", "run", "failing", "--until", "end"]


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", ["script", "kstreams run"])
def test_exception_in_user_code_is_printed_in_few_lines(way: str, tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text(_SCRIPT)
    topics = Embedded(tmp_path / "data", default_partitions=1, durable=False)
    with Emitter(Topic("words", TEXT, TEXT), topics) as emitter:
        emitter.emit_many([("a", "1"), ("b", "2"), ("c", "three")])
    arguments = [str(script)] if way == "script" else _COMMAND
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    own = [number for number, line in enumerate(lines) if line.startswith(f'  File "{script}"')]
    functions = [lines[number].rpartition(" in ")[2] for number in own]
    assert functions[:3] == ["parse", "<listcomp>", "number"] or functions[:2] == [
        "parse",
        "number",
    ]
    shown = [n for n in range(len(lines)) if not {n, n - 1, n - 2} & {*own}]
    assert len(shown) <= _MOST_LINES, done.stderr
    for part in ("topic 'words', partition 0, offset 2", "key 'c'", "node 'parse'", "Hint: "):
        assert part in done.stderr
    assert "  ValueError: invalid literal for int() with base 10: 'three'" in lines
    assert "org.apache" not in done.stderr
