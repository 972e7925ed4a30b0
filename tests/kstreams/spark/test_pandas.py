"""No process of an app imports pandas, and a processor that imports it gets all of it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kstreams import Embedded

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed"),
]

_APP = """
import sys
from pathlib import Path
from kstreams import TEXT, App, Embedded, Emitter, Topic, TopologyBuilder, map_values

home = Path(sys.argv[1])
WORDS, FOUND = Topic("words", key=TEXT, value=TEXT), Topic("found", key=TEXT, value=TEXT)


def look(word):
    before = [name for name in ("pandas", "unittest") if name in sys.modules]
    import pandas
    import pyarrow
    return f"{before} {pyarrow.array(pandas.Series([1.5, float('nan')])).null_count}"


builder = TopologyBuilder("looking")
words = builder.add_source("words", WORDS)
builder.add_sink("found", FOUND, builder.add_processor("look", map_values(look), words))
topics = Embedded(home / "topics")
with Emitter(WORDS, topics) as emitter:
    emitter.emit_many([("k", "x")])
App(builder.build(), topics, checkpoint=home / "checkpoint").run(until="end")
print([name for name in ("pandas", "unittest") if name in sys.modules])
"""


@pytest.mark.long
def test_pandas_is_imported_only_by_processor_that_uses_it(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", _APP, str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    topics = Embedded(tmp_path / "topics")
    reader, ends = topics.reader(), topics.admin().end_offsets("found")
    found = [
        each.value for part, end in ends.items() for each in reader.read("found", part, 0, end)
    ]
    assert found == [b"[] 1"]
