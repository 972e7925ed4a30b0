"""Word count as a stream and a table: `kstreams.streams`, the form to begin with.

python examples/streams_word_count.py
"""

from __future__ import annotations

from kstreams import BYTES, INT64, TEXT, Topic
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver

LINES = Topic("lines", key=BYTES, value=TEXT)
TOTALS = Topic("totals", key=TEXT, value=INT64)


def words_of(line: str) -> list[str]:
    return line.lower().split()


streams = Streams("word-count")
words = streams.stream(LINES).flat_map_values(words_of)
words.group_by(lambda _, word: word).count(store="counts").to(TOTALS)
topology = streams.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology, partitions=4) as driver:
        driver.pipe(LINES, b"1", "to be or not to be")
        print(sorted(driver.read_values(TOTALS).items()))
