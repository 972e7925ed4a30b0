"""Parameter changes that an upgrade accepts, with a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kstreams import Topology
from kstreams.aggregators import (
    count,
)
from kstreams.durations import milliseconds, minutes, seconds
from kstreams.emit import (
    at_most_every,
    every,
    on_close,
    until_time_limit,
)
from kstreams.operators import by_key
from kstreams.processors.columns import Execution
from tests.kstreams.checkpoint.refused_parameters import tumbling
from tests.kstreams.checkpoint.upgrade_topologies import (
    Row,
    as_of,
    deduplicated,
    expiring,
    joined,
    remembered,
    suppressed,
    windows_of,
)

__all__ = ("ALLOWED",)


@dataclass(frozen=True)
class Allowed:
    """An accepted change: its note, and the results of the records after it."""

    first: Topology
    second: Topology
    note: str
    before: Sequence[Row]
    after: Sequence[Row]
    expected: Sequence[str]
    right: Sequence[Row] = ()
    right_after: Sequence[Row] = ()


def late(grace: int, execution: Execution = "auto") -> Topology:
    windows = tumbling(minutes(1), seconds(grace))
    return windows_of(windows, count(), on_close(), execution=execution)


def emitted(emit: Any) -> Topology:
    return windows_of(tumbling(minutes(10)), count(), emit)


def ms(span: int) -> timedelta:
    return milliseconds(span)


ALLOWED = {
    "longer-grace": Allowed(
        late(0),
        late(30),
        "store 's': windows grace was 0:00:00, now 0:00:30: windows close later; a window that "
        "has closed begins empty if it gets records again",
        [(1_000, "a", 1), (61_000, "a", 1)],
        [(30_000, "a", 1), (125_000, "a", 1), (119_000, "a", 1), (151_000, "a", 1)],
        ["a@0/60000=1@30000", "a@60000/120000=2@119000"],
    ),
    "shorter-grace": Allowed(
        late(30),
        late(0),
        "store 's': windows grace was 0:00:30, now 0:00:00: windows close earlier",
        [(1_000, "a", 1), (61_000, "a", 1)],
        [(62_000, "a", 1), (120_000, "a", 1)],
        ["a@0/60000=1@1000", "a@60000/120000=2@62000"],
    ),
    "shorter-grace-by-records": Allowed(
        late(30, "records"),
        late(0, "records"),
        "store 's': windows grace was 0:00:30, now 0:00:00: windows close earlier",
        [(1_000, "a", 1), (61_000, "a", 1)],
        [(100_000, "a", 1), (121_000, "b", 1)],
        ["a@0/60000=1@1000", "a@60000/120000=2@100000"],
    ),
    "longer-retention": Allowed(
        as_of(ms(100), ms(0)),
        as_of(ms(1_000), ms(0)),
        "store 's': retention was 0:00:00.100000, now 0:00:01: versions that were dropped "
        "already are not restored",
        [(1, "b", 0)],
        [(15, "a", 9), (495, "a", 9), (505, "a", 9)],
        ["a=9+None@15", "a=9+2@495", "a=9+3@505"],
        right=[(10, "a", 1), (20, "a", 2), (500, "a", 3), (501, "a", 3)],
    ),
    "shorter-retention": Allowed(
        as_of(ms(1_000), ms(0)),
        as_of(ms(100), ms(0)),
        "store 's': retention was 0:00:01, now 0:00:00.100000: versions beyond the new retention "
        "are dropped",
        [(1, "b", 0)],
        [(15, "a", 9), (495, "a", 9), (505, "a", 9)],
        ["a=9+None@15", "a=9+2@495", "a=9+3@505"],
        right=[(10, "a", 1), (20, "a", 2), (500, "a", 3), (501, "a", 3)],
    ),
    "longer-ttl": Allowed(
        remembered(ms(100)),
        remembered(ms(1_000)),
        "store 's': ttl was 0:00:00.100000, now 0:00:01: stored values keep their old expiry times",
        [(10, "a", 0), (20, "b", 0)],
        [(50, "a", 0), (900, "b", 0), (1_000, "a", 0)],
        ["a=2@50", "b=1@900", "a=3@1000"],
    ),
    "shorter-ttl": Allowed(
        remembered(ms(1_000)),
        remembered(ms(100)),
        "store 's': ttl was 0:00:01, now 0:00:00.100000: stored values keep their old expiry times",
        [(10, "a", 0)],
        [(500, "b", 0), (600, "a", 0), (750, "b", 0), (760, "a", 0)],
        ["b=1@500", "a=2@600", "b=1@750", "a=1@760"],
    ),
    "longer-table-ttl": Allowed(
        expiring(ms(100)),
        expiring(ms(1_000)),
        "store 's': table ttl was 0:00:00.100000, now 0:00:01: rows that have expired already "
        "are not restored",
        [(10, "a", 0)],
        [(200, "b", 0), (1_011, "c", 0)],
        ["b=0@200", "c=0@1011", "a=None@1010"],
    ),
    "shorter-table-ttl": Allowed(
        expiring(ms(1_000)),
        expiring(ms(100)),
        "store 's': table ttl was 0:00:01, now 0:00:00.100000: rows expire by the new ttl",
        [(10, "a", 0)],
        [(50, "b", 0), (120, "c", 0), (160, "d", 0)],
        ["b=0@50", "c=0@120", "a=None@110", "d=0@160", "b=None@150"],
    ),
    "longer-deduplication": Allowed(
        deduplicated(10, by_key()),
        deduplicated(100, by_key()),
        "store 's': deduplicate within was 0:00:00.010000, now 0:00:00.100000: ids that have "
        "expired already count as new",
        [(10, "a", 0), (10, "b", 0), (32, "c", 0)],
        [(33, "b", 1), (90, "b", 2)],
        ["b=1@33"],
    ),
    "shorter-deduplication": Allowed(
        deduplicated(100, by_key()),
        deduplicated(10, by_key()),
        "store 's': deduplicate within was 0:00:00.100000, now 0:00:00.010000: ids expire by "
        "the new duration",
        [(10, "a", 0)],
        [(15, "a", 1), (25, "a", 2)],
        ["a=2@25"],
    ),
    "longer-suppress-limit": Allowed(
        suppressed(until_time_limit(ms(5))),
        suppressed(until_time_limit(ms(50))),
        "store 's': suppress limit was 0:00:00.005000, now 0:00:00.050000: buffered records are "
        "released later",
        [(10, "a", 1)],
        [(20, "b", 2), (60, "c", 3)],
        ["a=1@10"],
    ),
    "shorter-suppress-limit": Allowed(
        suppressed(until_time_limit(ms(50))),
        suppressed(until_time_limit(ms(5))),
        "store 's': suppress limit was 0:00:00.050000, now 0:00:00.005000: buffered records are "
        "released earlier",
        [(10, "a", 1)],
        [(20, "b", 2)],
        ["a=1@10"],
    ),
    "longer-interval": Allowed(
        emitted(every(ms(10))),
        emitted(every(ms(100))),
        "store 's-waiting': emit interval was 0:00:00.010000, now 0:00:00.100000: buffered "
        "results are released by the old or the new interval",
        [(5, "a", 1)],
        [(12, "b", 1), (101, "c", 1)],
        ["a@0/600000=1@5", "b@0/600000=1@12"],
    ),
    "shorter-interval": Allowed(
        emitted(every(ms(100))),
        emitted(every(ms(10))),
        "store 's-waiting': emit interval was 0:00:00.100000, now 0:00:00.010000: buffered "
        "results are released by the old or the new interval",
        [(5, "a", 1)],
        [(6, "b", 1), (12, "c", 1)],
        ["a@0/600000=1@5", "b@0/600000=1@6"],
    ),
    "longer-rate-limit": Allowed(
        emitted(at_most_every(ms(10))),
        emitted(at_most_every(ms(100))),
        "store 's-waiting': emit interval was 0:00:00.010000, now 0:00:00.100000: buffered "
        "results are released by the old or the new interval",
        [(5, "a", 1), (6, "a", 1)],
        [(16, "b", 1), (20, "a", 1), (115, "b", 1)],
        ["b@0/600000=1@16", "a@0/600000=2@6"],
    ),
    "shorter-rate-limit": Allowed(
        emitted(at_most_every(ms(100))),
        emitted(at_most_every(ms(10))),
        "store 's-waiting': emit interval was 0:00:00.100000, now 0:00:00.010000: buffered "
        "results are released by the old or the new interval",
        [(5, "a", 1), (6, "a", 1)],
        [(50, "a", 1), (105, "b", 1), (106, "b", 1), (115, "c", 1)],
        ["b@0/600000=1@105", "a@0/600000=3@50", "c@0/600000=1@115", "b@0/600000=2@106"],
    ),
    "wider-join": Allowed(
        joined(10, 10, 0),
        joined(50, 50, 0),
        "join 'join' of group 'in': it had before 10 ms, after 10 ms, grace 0 ms, and now has "
        "before 50 ms, after 50 ms, grace 0 ms: records that have expired already are not joined",
        [(100, "a", 1)],
        [(200, "z", 0)],
        ["a=1+2@130"],
        right_after=[(130, "a", 2)],
    ),
    "narrower-join": Allowed(
        joined(50, 50, 0),
        joined(10, 10, 0),
        "join 'join' of group 'in': it had before 50 ms, after 50 ms, grace 0 ms, and now has "
        "before 10 ms, after 10 ms, grace 0 ms: records expire sooner",
        [(100, "a", 1)],
        [(105, "a", 3), (200, "z", 0)],
        ["a=1+2@104", "a=3+2@105", "a=None+4@130"],
        right_after=[(104, "a", 2), (130, "a", 4)],
    ),
    "longer-wait": Allowed(
        as_of(ms(1_000), ms(0)),
        as_of(ms(1_000), ms(50)),
        "join 'join' of group 'rows.source': it had grace 0 ms, and now has grace 50 ms: this "
        "applies to records that arrive after the upgrade",
        [(1, "b", 0)],
        [(20, "a", 9), (80, "b", 9)],
        ["a=9+1@20"],
        right=[(10, "a", 1)],
    ),
}
