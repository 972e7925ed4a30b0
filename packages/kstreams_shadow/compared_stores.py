"""The comparison of the stores of two replicas, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.errors import StoreKindError
from kstreams.graph.topology import Topology
from kstreams.views.view import View
from kstreams_admin.difference import ChangedRow, changed_rows
from kstreams_admin.values import printable
from kstreams_shadow.comparison import Difference, Tally, Verdict
from kstreams_shadow.report import MOST_EXAMPLES, Compared, Example

__all__ = ("compared_stores", "unlike_stores")


def unlike_stores(old: Topology, new: Topology) -> tuple[str, ...]:
    """Return the names of stores that only one topology has, or that differ in their definition."""
    olds, news = ({spec.name: spec.schema() for spec in each.stores} for each in (old, new))
    return tuple(sorted(n for n in {*olds, *news} if olds.get(n) != news.get(n)))


def compared_stores(
    batch: int, old: tuple[Checkpoint, Topology], new: tuple[Checkpoint, Topology]
) -> dict[str, Compared]:
    """Compare the rows of the stores that both topologies have, by store.

    Both sides are read together in the order of the store, so memory holds few rows. Stores of
    kinds that do not describe their rows are left out.

    Args:
        batch: The number of the app's last compared batch.
        old: The checkpoint and the topology of the replica `old`.
        new: The checkpoint and the topology of the replica `new`.
    """
    unlike = unlike_stores(old[1], new[1])
    specs = [{spec.name: spec for spec in topology.stores} for _, topology in (old, new)]
    found: dict[str, Compared] = {}
    for name in specs[0]:
        if name in unlike:
            continue
        with (
            View(old[0].home.named, specs[0][name]) as before,
            View(new[0].home.named, specs[1][name]) as after,
        ):
            try:
                found[name] = _tallied(batch, changed_rows(before, after))
            except StoreKindError:
                continue
    return found


def _tallied(batch: int, rows: Iterable[ChangedRow | None]) -> Compared:
    tally, examples = Tally(), list[Example]()
    for key, changes in groupby(rows, lambda row: None if row is None else printable(row.row[0])):
        if key is None:
            tally += Tally(equal=sum(1 for _ in changes))
            continue
        for found in _differences(key, changes):
            tally += Tally(**{found.verdict.replace(" ", "_"): 1})
            if len(examples) < MOST_EXAMPLES:
                examples.append(Example.of(batch, found))
    return Compared(tally, tuple(examples))


def _differences(key: str, changes: Iterable[ChangedRow | None]) -> Iterator[Difference]:
    """Pair the removed and the added rows of one key, in their order."""
    sides: dict[str, list[str]] = {"-": [], "+": []}
    for change in changes:
        if change is not None:
            sides[change.sign].append(", ".join(map(printable, change.row[1:])))
    olds, news = sides["-"], sides["+"]
    for number in range(max(len(olds), len(news))):
        old = olds[number] if number < len(olds) else None
        new = news[number] if number < len(news) else None
        verdict: Verdict = "different"
        if old is None or new is None:
            verdict = "only new" if old is None else "only old"
        yield Difference(verdict, key, old, new)
