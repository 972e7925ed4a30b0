"""Serdes of the page and of the examples pass the test suite for serdes."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kstreams import Serde
from kstreams.testing import SerdeContract, WrittenBytes
from tests.examples.test_docs import blocks_of

_ROOT = Path(__file__).parents[2]
_GOKA = runpy.run_path(str(_ROOT / "examples/other_codecs.py"))["DecimalInt64"]


def test_serde_tests_shown_in_serdes_page_pass(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("\n".join(blocks_of(_ROOT / "docs/serdes.md")))
    suite: Any = runpy.run_path(str(program), run_name="program")["TestCbor"]
    names = [name for name in dir(suite) if name.startswith("test_")]
    assert len(names) > 15
    for name in names:
        if name != "test_serde_can_be_pickled":  # the page is no module
            getattr(suite(), name)()


class TestGokasNumbers(SerdeContract[int]):
    recorded_name = "goka-int64"

    def serde(self) -> Serde[int]:
        made: Serde[int] = _GOKA()
        return made

    def values(self) -> Sequence[int]:
        return [0, 5, -(2**63), 2**63 - 1]

    def wrong_objects(self) -> Sequence[object]:
        return ["1", 2**63, True, 1.0]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"-", b"1.0", b"--1", b"\xd9\xa1", b"1_0", b"9" * 30]

    def written(self) -> Sequence[WrittenBytes[int]]:
        return [WrittenBytes(b"42", 42, golden=True)]

    def test_serde_can_be_pickled(self) -> None:
        """Skip the test: the example is no module."""
