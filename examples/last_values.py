"""birdayz/kstreams' app: a processor reads two topics and shows the previous value of each key.

python examples/last_values.py [BOOTSTRAP]: on Kafka, where it creates the topics, or on files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from kstreams import TEXT, App, Embedded, Emitter, Kafka, Record, Topic, TopologyBuilder
from kstreams.processors import FixedKeyProcessor, ProcessorContext
from kstreams.stores import key_value_store

MINE = Topic("my-topic", key=TEXT, value=TEXT)
SECOND = Topic("my-second-topic", key=TEXT, value=TEXT)
CHANGES = Topic("my-sink-topic", key=TEXT, value=TEXT)
STORE = key_value_store("my-store", key=TEXT, value=TEXT)


class Remember(FixedKeyProcessor[str, str, str]):
    """Keeps the last value of each key, from either topic."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.context, self.store = context, context.store(STORE)

    def process(self, record: Record[str, str]) -> None:
        before = self.store.get(record.key)
        self.store.put(record.key, record.value)
        said = f"{before} -> {record.value}" if before else record.value
        self.context.forward(record.with_value(said))


builder = TopologyBuilder("last-values")
sources = [builder.add_source(topic.name, topic) for topic in (MINE, SECOND)]
changes = builder.add_processor("processor", Remember, *sources, stores=[STORE])
builder.add_sink("changes", CHANGES, changes)
topology = builder.build()


def main(topics: Embedded | Kafka, home: Path) -> None:
    for topic in (MINE, SECOND, CHANGES):
        topics.admin().create(topic.name, partitions=2)
    with Emitter(MINE, topics) as mine, Emitter(SECOND, topics) as second:
        mine.emit("a", "one", timestamp=1)
        second.emit("a", "two", timestamp=2)
        mine.emit("b", "three", timestamp=3)
    with App(topology, topics, checkpoint=home / "checkpoint") as app:
        app.run(until="end")  # without `until`, it runs until SIGTERM


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-example-") as folder:
        on = Kafka(sys.argv[1]) if sys.argv[1:] else Embedded(Path(folder, "topics"))
        main(on, Path(folder))
        for partition, end in on.admin().end_offsets(CHANGES.name).items():
            for raw in on.reader().read(CHANGES.name, partition, 0, end):
                print(TEXT.deserialize(raw.key or b""), TEXT.deserialize(raw.value or b""))
