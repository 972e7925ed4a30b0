"""The programs of `deploy/` count words."""

from __future__ import annotations

import runpy

import pytest

from kstreams import BYTES, INT64, TEXT, Topic
from kstreams.testing import TopologyTestDriver
from tests.support.deploy.deploying_page import ROOT

LINES = Topic("lines", key=BYTES, value=TEXT, null_keys="pass")
TOTALS = Topic("totals", key=TEXT, value=INT64)


@pytest.mark.parametrize("name", ["word_count.py", "word_count_frames.py"])
def test_deployed_program_counts_words(name: str) -> None:
    topology = runpy.run_path(str(ROOT / "deploy" / name))["build"]()
    with TopologyTestDriver(topology) as driver:
        for number, line in enumerate(("a b a", "b c")):
            driver.pipe(LINES, b"%d" % number, line, timestamp=number)
        counted = [(record.key, record.value) for record in driver.read(TOTALS)]
    # one batch, with the last count of each word
    assert counted == [("a", 2), ("b", 1), ("b", 2), ("c", 1)]
