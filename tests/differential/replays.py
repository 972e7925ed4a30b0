"""Run drawn cases batch by batch, and repeat all committed batches.

`make replays` draws cases until the given number of task batches have been compared, and prints a
summary.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.embedded.connection import Embedded
from kstreams_explain.audit import AuditedTask, audit
from kstreams_explain.replayed_app import ReplayedApp
from tests.support.apps.stepped_app import ByHand
from tests.support.generated.case import Case, RawRecord
from tests.support.generated.join_topologies import join_cases
from tests.support.generated.topologies import cases

__all__ = ("audited",)


def audited(case: Case) -> list[AuditedTask]:
    """Run a case, then repeat each batch of its tasks."""
    topology = case.plan.topology()
    with tempfile.TemporaryDirectory(prefix="kstreams-replays-") as home:
        app = ByHand(Path(home), topology, partitions=case.plan.partitions, retained_batches=10_000)
        for number, batch in enumerate(case.batches):
            app.clock.advance(timedelta(milliseconds=1_000 + batch.wall_ms - app.clock.now_ms()))
            _write(app.connection, batch.records, number)
            app.run()
        checkpoint = Checkpoint.load(app.settings.checkpoint)
        replayed = ReplayedApp(checkpoint, topology, app.connection, checkpoint.log)
        return list(audit(replayed, 10_000))


def _write(connection: Embedded, records: Iterable[RawRecord], number: int) -> None:
    place = attrgetter("topic", "partition")
    writer = connection.writer()
    for (topic, partition), group in groupby(sorted(records, key=place), place):
        for each in group:
            writer.write(topic, partition, each.key, each.value, each.timestamp, each.headers)
        writer.flush()
    writer.close()


def main(wanted: int) -> None:
    """Draw and compare cases until the given number of task batches is reached."""
    counts: Counter[str] = Counter()

    def compare(case: Case) -> None:
        for each in audited(case):
            assert (each.differs, each.not_run) == ("", ""), f"{each}\n{case.describe()}"
            counts[each.how] += 1

    every = settings(
        max_examples=20,
        deadline=None,
        database=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    while counts["delta"] < wanted:
        for drawn in (cases(), join_cases()):
            every(given(drawn)(compare))()
        sys.stdout.write(f"{dict(counts)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
