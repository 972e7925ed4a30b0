"""A project of a user: a folder with a package and a script outside this repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.processes import end_session
from devtools.spark_home import QUICK_JVMS, spark_home

PACKAGE = {
    "shop_words/__init__.py": '"""A user\'s package."""\n',
    "shop_words/names.py": 'STORE = "counts"\n',
    "shop_words/counting.py": '''\
"""A stateful processor that says where it was imported and run."""

import os

from kstreams import INT64, TEXT, FixedKeyProcessor, key_value_store
from shop_words.names import STORE

COUNTS = key_value_store(STORE, key=TEXT, value=INT64)


class CountWords(FixedKeyProcessor):
    def init(self, context):
        self.context, self.counts = context, context.store(COUNTS)
        self.here = (("file", __file__.encode()), ("cwd", os.getcwd().encode()))

    def process(self, record):
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total).with_headers(self.here))
''',
}

SCRIPT = '''\
"""Count words; the last line printed is a JSON object of what the sink holds."""

import json
import sys
from pathlib import Path

from kstreams import (
    BYTES, INT64, NONE, TEXT, App, Embedded, Emitter, Topic, TopologyBuilder, flat_map,
)
from kstreams.state import Memory
from shop_words.counting import COUNTS, CountWords

SEPARATOR = " "  # a global of the script, which its functions use on executors


def split(key, line):
    return ((word, None) for word in line.split(SEPARATOR))


def main():
    options = json.loads(sys.argv[1])
    home = Path(options["home"])
    connection = Embedded(home / "topics")
    lines, totals = Topic("lines", BYTES, TEXT), Topic("totals", TEXT, INT64)
    for topic in (lines, totals):
        connection.admin().create(topic.name, 4)
    with Emitter(lines, connection) as emitter:
        emitter.emit_many((b"%d" % n, line) for n, line in enumerate(options["lines"]))

    builder = TopologyBuilder("word-count")
    words = builder.add_processor("split", flat_map(split), builder.add_source("lines", lines))
    words = builder.repartition("by-word", words, key=TEXT, value=NONE)
    counts = builder.add_processor("count", CountWords, words, stores=[COUNTS])
    builder.add_sink("totals", totals, counts)
    state = Memory()
    if options["backend"] == "rocksdb":
        from kstreams_rocksdb import RocksDB

        state = RocksDB()
    App(
        builder.build(), connection, state=state, checkpoint=home / "checkpoint",
        packages=options["packages"], config=options["config"],
        max_records_per_batch=options["max_records"],
    ).run(until="end")

    import kstreams

    found = {"library": kstreams.__file__, "counts": {}, "files": [], "executors": []}
    for partition, end in connection.admin().end_offsets("totals").items():
        for record in connection.reader().read("totals", partition, 0, end):
            headers = dict(record.headers)
            key, count = record.key.decode(), int.from_bytes(record.value, "big")
            found["counts"].setdefault(key, []).append(count)
            found["files"].append(headers["file"].decode())
            found["executors"].append(headers["cwd"].decode())
    for name in ("files", "executors"):
        found[name] = sorted(set(found[name]))
    print(json.dumps(found))


main()
'''

LINES = [f"{'to be or not ' * (1 + n % 3)}{n % 17} w{n % 29}" for n in range(400)]


def expected_counts() -> dict[str, list[int]]:
    """Return the counts that the sink must hold, in order, by word."""
    found: dict[str, list[int]] = {}
    for line in LINES:
        for word in line.split(" "):
            counts = found.setdefault(word, [])
            counts.append(len(counts) + 1)
    return found


@dataclass(frozen=True)
class Outcome:
    """Output of the script: origin of the imported code, and the counts by word, in order."""

    library: str
    counts: dict[str, list[int]]
    files: list[str]
    executors: list[str]


def make_project(folder: Path) -> Path:
    """Write package and script to an empty folder; return the script."""
    for name, text in {**PACKAGE, "count.py": SCRIPT}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder / "count.py"


def run_project(
    command: Sequence[str],
    script: Path,
    *,
    packages: str | Sequence[str] = "auto",
    backend: str = "memory",
    master: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Run the script in its folder as a separate process; remove all that it leaves behind."""
    options = {
        "home": str(script.parent / "run"),
        "lines": LINES,
        "packages": packages,
        "backend": backend,
        "config": QUICK_JVMS | ({} if master is None else {"spark.master": master}),
        "max_records": 150,
    }
    home = {} if master is None else {"SPARK_HOME": str(spark_home(script.parent))}
    # A session of this process sets its own Python in this variable, which Spark's children use.
    ours = ("PYTHONPATH", "PYSPARK_", "SPARK_")
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    with (script.parent / "out").open("w+") as out, (script.parent / "err").open("w+") as err:
        process = subprocess.Popen(
            [*command, script.name, json.dumps(options)],
            cwd=script.parent,
            env={**inherited, "SPARK_LOCAL_IP": "127.0.0.1", **home, **(environment or {})},
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=500)
        finally:
            end_session(process.pid)
            process.wait()
        out.seek(0)
        err.seek(0)
        printed, errors = out.read(), re.sub(r"\n\tat .*", "", err.read())
    assert code == 0, f"{printed[-2_000:]}\n{errors[-4_000:]}"
    return Outcome(**json.loads(printed.splitlines()[-1]))
