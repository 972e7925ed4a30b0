"""Run the command line as a user does, in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kstreams_cli.program import PROGRAM

__all__ = ("kstreams", "say", "words_module")

WORDS = """
from __future__ import annotations

from kstreams import (
    BYTES, INT64, NONE, TEXT, FixedKeyProcessor, Topic, TopologyBuilder, flat_map, key_value_store,
)

LINES = Topic("lines", key=BYTES, value=TEXT, null_keys="pass")
TOTALS = Topic("totals", key=TEXT, value=INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class CountWords(FixedKeyProcessor[str, None, int]):
    def init(self, context):
        self.context, self.counts = context, context.store(COUNTS)

    def process(self, record):
        if record.key == "boom":
            raise RuntimeError("boom is not countable")
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


def build():
    builder = TopologyBuilder("word-count")
    lines = builder.add_source("lines", LINES)
    split = flat_map(lambda key, value: [(word, None) for word in value.split()])
    words = builder.add_processor("split", split, lines)
    words = builder.repartition("by-word", words, key=TEXT, value=NONE)
    totals = builder.add_processor("count", CountWords, words, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, totals)
    return builder


topology = build().build()
"""


def kstreams(*arguments: str, given: str | bytes | None = None) -> Result:
    """Run `kstreams` with arguments and a standard input."""
    return CliRunner().invoke(PROGRAM, list(arguments), input=given, env={"COLUMNS": "200"})


def say(*arguments: str, given: str | bytes | None = None) -> str:
    """Run `kstreams` successfully, and return its standard output."""
    result = kstreams(*arguments, given=given)
    assert result.exit_code == 0, result.output
    return result.stdout


def words_module(directory: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> str:
    """Write the word count to a module in a new current directory."""
    monkeypatch.chdir(directory)
    monkeypatch.syspath_prepend(str(directory))
    (directory / f"{name}.py").write_text(WORDS)
    return name
