"""Read an app's store from outside of the app: after a run, as here, or while the app runs.

python examples/view.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from kstreams import INT64, TEXT, App, Embedded, Emitter, Topic, TopologyBuilder, View
from kstreams.aggregators import count
from kstreams.operators import aggregate
from kstreams.stores import timestamped_store

VISITS = Topic("visits", key=TEXT, value=TEXT)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)

builder = TopologyBuilder("visits")
visits = builder.add_source("visits", VISITS)
builder.add_processor("count", aggregate(count(), store=COUNTS), visits)
topology = builder.build()


def main(home: Path) -> None:
    topics = Embedded(home / "topics")
    topics.admin().create(VISITS.name, partitions=2)
    with Emitter(VISITS, topics) as emitter:
        emitter.emit_many([("/home", "ann"), ("/docs", "ann"), ("/home", "bob")])
    App(topology, topics, checkpoint=home / "checkpoint").run(until="end")
    with View(home / "checkpoint", COUNTS) as counts:
        for page, (number, _) in counts.items():
            print(f"{page}: {number} visits, as of batch {counts.version}")


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-example-") as folder:
        main(Path(folder))
