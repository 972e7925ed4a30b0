"""Count the words of Python's language reference, and check the counts.

    python examples/word_count.py

With your own topics, embedded or on Kafka: `kstreams run examples/word_count.py --help`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from pydoc_data.topics import topics as language_reference
from tempfile import TemporaryDirectory

from kstreams import BYTES, INT64, TEXT, App, Embedded, Emitter, Topic, View
from kstreams.stores import timestamped_store
from kstreams.streams import Streams
from kstreams_rocksdb import RocksDB

LINES = Topic("lines", key=BYTES, value=TEXT)
TOTALS = Topic("totals", key=TEXT, value=INT64)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


def words_of(line: str) -> list[str]:
    return re.findall(r"[a-z][a-z']*", line.lower())


streams = Streams("word-count")
words = streams.stream(LINES).flat_map_values(words_of)
words.group_by(lambda _, word: word).count(store=COUNTS).to(TOTALS)
topology = streams.build()


def main(home: Path) -> None:
    text = [line for page in language_reference.values() for line in page.splitlines()]
    topics = Embedded(home / "topics")
    with Emitter(LINES, topics) as emitter:
        emitter.emit_many((b"%d" % number, line) for number, line in enumerate(text))
    with App(topology, topics, state=RocksDB(), checkpoint=home / "app") as app:
        app.run(until="end")
    with View(home / "app", COUNTS) as view:
        counts = Counter({word: total for word, (total, _) in view.items()})
    print(*(f"{total:6,} {word}" for word, total in counts.most_common(10)), sep="\n")
    expected = Counter(word for line in text for word in words_of(line))
    print("equal to a plain count:", "yes" if counts == expected else "no")


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-word-count-") as folder:
        main(Path(folder))
