"""Count words: a source, a key change, a repartition, a store, a sink.

Teaches the whole way from text to counts, and proves it: the counts are compared with a
plain Python count at the end.

    python examples/word_count.py                          # the language reference, embedded topics
    python examples/word_count.py --input FILE_OR_FOLDER   # any text
    python examples/word_count.py --bootstrap HOST:PORT    # the same on Kafka
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from pydoc_data.topics import topics as LANGUAGE_REFERENCE  # noqa: N812  # a constant, lower-cased
from uuid import uuid4

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from kstreams import (
    BYTES,
    INT64,
    NONE,
    TEXT,
    App,
    Embedded,
    Emitter,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    flat_map,
    key_value_store,
)
from kstreams.app import BatchReport
from kstreams.io import Connection
from kstreams_rocksdb import RocksDB

WORD = re.compile(r"[a-z][a-z']*")
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


def words_of(line: str) -> list[str]:
    return WORD.findall(line.lower())


def split(key: bytes, line: str) -> Iterable[tuple[str, None]]:
    return ((word, None) for word in words_of(line))


class CountWords(FixedKeyProcessor[str, None, int]):
    """Running count of each word."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(COUNTS)

    def process(self, record: Record[str, None]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


def word_count(lines: Topic[bytes, str], totals: Topic[str, int]) -> Topology:
    """Build the topology between two topics."""
    builder = TopologyBuilder("word-count")
    source = builder.add_source("lines", lines)
    words = builder.add_processor("split", flat_map(split), source)
    words = builder.repartition("by-word", words, key=TEXT, value=NONE)
    counts = builder.add_processor("count", CountWords, words, stores=[COUNTS])
    builder.add_sink("totals", totals, counts)
    return builder.build()


topology = word_count(Topic("lines", BYTES, TEXT), Topic("totals", TEXT, INT64))
"""For `kstreams describe examples.word_count:topology`."""


def read_lines(place: Path | None) -> list[str]:
    if place is None:
        return [line for text in LANGUAGE_REFERENCE.values() for line in text.splitlines() if line]
    files = sorted(f for f in place.rglob("*") if f.is_file()) if place.is_dir() else [place]
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return [line for text in texts for line in text.splitlines() if line]


def final_counts(connection: Connection, totals: Topic[str, int]) -> dict[str, int]:
    """Read the totals topic: the last count of each word."""
    admin, reader = connection.admin(), connection.reader()
    found: dict[str, int] = {}
    for partition, end in admin.end_offsets(totals.name).items():
        for record in reader.read(totals.name, partition, 0, end):
            if record.key is not None and record.value is not None:
                found[TEXT.deserialize(record.key)] = INT64.deserialize(record.value)
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Count the words of a text with kstreams on Spark.",
        epilog="Without --input it counts Python's own language reference (about 450 KB).",
    )
    parser.add_argument("--input", type=Path, help="a text file, or a folder of them")
    parser.add_argument("--bootstrap", help="HOST:PORT of a Kafka broker, instead of files here")
    parser.add_argument("--partitions", type=int, default=4, help="of both topics (default: 4)")
    parser.add_argument("--top", type=int, default=10, help="how many words to show (default: 10)")
    parser.add_argument(
        "--diagram",
        type=Path,
        default=Path("word-count.mmd"),
        help="where to put the topology's Mermaid diagram (default: word-count.mmd)",
    )
    return parser.parse_args()


def main() -> int:
    options, console = arguments(), Console()
    lines_read = read_lines(options.input)
    if not lines_read:
        console.print(f"no text in {options.input}: nothing to count")
        return 1
    home = Path(tempfile.mkdtemp(prefix="kstreams-word-count-"))
    name = f"word-count-{uuid4().hex[:8]}"
    lines = Topic(f"{name}-lines", BYTES, TEXT)
    totals = Topic(f"{name}-totals", TEXT, INT64)
    connection = connect(options.bootstrap, home, (lines.name, totals.name), options.partitions)
    with Emitter(lines, connection) as emitter:
        emitter.emit_many((b"%d" % number, line) for number, line in enumerate(lines_read))
    topology = word_count(lines, totals)
    options.diagram.write_text(topology.to_mermaid())
    console.print(f"{len(lines_read):,} lines in topic {lines.name}; starting Spark …")
    run(topology, connection, home, len(lines_read), console)
    expected = Counter(word for line in lines_read for word in words_of(line))
    return show(final_counts(connection, totals), expected, options, console)


def connect(
    bootstrap: str | None, home: Path, topics: Iterable[str], partitions: int
) -> Connection:
    connection: Connection
    if bootstrap is None:
        connection = Embedded(home / "topics")
    else:
        from kstreams import Kafka  # noqa: PLC0415  # needs the extra `kafka`

        connection = Kafka(bootstrap)
    admin = connection.admin()
    for topic in topics:
        admin.create(topic, partitions)
    admin.close()
    return connection


def run(
    topology: Topology, connection: Connection, home: Path, total: int, console: Console
) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("lines counted", total=total)

        def advance(report: BatchReport) -> None:
            progress.advance(bar, report.source_records)

        app = App(
            topology,
            connection,
            state=RocksDB(),
            checkpoint=home / "checkpoint",
            max_records_per_batch=2_500,
            on_batch=advance,
        )
        app.run(until="end")


def show(
    found: dict[str, int], expected: Counter[str], options: argparse.Namespace, console: Console
) -> int:
    table = Table("word", "count", title=f"top {options.top} of {len(found):,} words")
    for word, count in Counter(found).most_common(options.top):
        table.add_row(word, f"{count:,}")
    console.print(table)
    console.print(f"topology diagram: {options.diagram}")
    equal = found == dict(expected)
    console.print(f"equal to a plain count: {'yes' if equal else 'no'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
