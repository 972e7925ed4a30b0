"""Counts words with this library, on embedded topics; prints a line after the first commit.

The arguments are the folder, and the engine.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import word_count

from benchmarks.start.lines import LINES
from kstreams import App, Embedded, Emitter
from kstreams_rocksdb import RocksDB


def main(home: Path, engine: str) -> None:
    topics = Embedded(home / "topics")
    with Emitter(word_count.LINES, topics) as emitter:
        emitter.emit_many((b"%d" % number, line) for number, line in enumerate(LINES))
    App(
        word_count.topology,
        topics,
        state=RocksDB(),
        checkpoint=home / "app",
        trigger=timedelta(0),
        engine="embedded" if engine == "embedded" else "spark",
        on_batch=lambda report: print("first", report.source_records, flush=True),
    ).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
