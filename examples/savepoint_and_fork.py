"""Name a version of an app's state as a savepoint, and start another app with a copy of it.

python examples/savepoint_and_fork.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from kstreams import INT64, TEXT, App, Embedded, Emitter, Topic, TopologyBuilder, View
from kstreams.aggregators import sum_
from kstreams.operators import aggregate
from kstreams.stores import timestamped_store

PAYMENTS = Topic("payments", key=TEXT, value=INT64)
BALANCES = timestamped_store("balances", key=TEXT, value=INT64)

builder = TopologyBuilder("balances")
payments = builder.add_source("payments", PAYMENTS)
builder.add_processor("sum", aggregate(sum_(INT64), store=BALANCES), payments)
topology = builder.build()


def pay(cents: int, topics: Embedded) -> None:
    with Emitter(PAYMENTS, topics) as emitter:
        emitter.emit("ann", cents)


def balance(checkpoint: Path, as_of: str | None = None) -> int:
    with View(checkpoint, BALANCES, as_of=as_of) as view:
        found = view.get("ann")
        return found[0] if found else 0


def main(home: Path) -> None:
    topics = Embedded(home / "topics")
    topics.admin().create(PAYMENTS.name, partitions=1)
    original, trial = home / "balances", home / "trial"

    pay(100, topics)
    App(topology, topics, checkpoint=original).run(until="end")
    kstreams = Path(sys.executable).with_name("kstreams")
    keep = ["state", "savepoint", "balances", "monday", "--checkpoint", str(original)]
    subprocess.run([str(kstreams), *keep], check=True)  # noqa: S603  # the installed command

    pay(50, topics)
    fork = f"{original}@monday"
    App(topology, topics, app_id="trial", checkpoint=trial, fork=fork).run(until="end")
    print("the app:", balance(original))
    print("its savepoint:", balance(original, as_of="monday"))
    print("a fork of it, which has read on:", balance(trial))


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-example-") as folder:
        main(Path(folder))
