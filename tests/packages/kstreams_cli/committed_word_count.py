"""A word count that has committed three batches in the current directory."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from tests.support.apps.stepped_app import ByHand
from tests.support.cli.command_line import words_module

__all__ = ("WHERE", "counted_words")

WHERE = ("--checkpoint", "word-count", "--data", "topics")


def counted_words(monkeypatch: pytest.MonkeyPatch, name: str) -> str:
    """Run the app's batches without Spark; return the module of its topology."""
    module = words_module(Path.cwd(), monkeypatch, name)
    words = import_module(module)
    app = ByHand(Path.cwd(), words.topology, retained_batches=10)
    for number, text in enumerate(("a b", "b", "a [red]c[/] a")):
        app.emit(words.LINES, (b"%d" % number, text))
        app.run()
    return module
