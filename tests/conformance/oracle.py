"""Compare what a run gave with what a case expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.conformance.case import Case, Output
from tests.conformance.engine import Answer

Batch = Sequence[Output]


def problem(case: Case, answer: Answer, *, cut: str) -> str | None:
    """Return what is wrong with an answer; None when nothing is."""
    if case.expected is None:
        return None
    expected = [
        [result for place in batch for result in case.expected[place]]
        for batch in case.batches(cut)
    ]
    actual: Sequence[Batch] = answer.batches
    if cut != "1" and case.emit == "update":
        expected, actual = last_of_each(expected), last_of_each(actual)
    if case.compare == "total":
        expected, actual = [_flat(expected)], [_flat(actual)]
    for number, (wanted, got) in enumerate(zip(expected, actual, strict=True)):
        if _bag(wanted) != _bag(got):
            return f"batch {number}: expected {list(wanted)}, got {list(got)}"
    if case.dropped is not None and case.dropped != answer.dropped:
        return f"expected {case.dropped} dropped, got {answer.dropped}"
    return None


def last_of_each(batches: Iterable[Batch]) -> list[list[Output]]:
    """Keep each batch's last result of a key and window.

    A deleted session is left out unless an earlier batch had shown it.
    """
    shown: set[str] = set()
    kept = []
    for batch in batches:
        last = {result[0]: result for result in batch}
        kept.append([r for r in last.values() if r[1] is not None or r[0] in shown])
        shown |= {key for key, value, _ in last.values() if value is not None}
    return kept


def _flat(batches: Iterable[Batch]) -> list[Output]:
    return [result for batch in batches for result in batch]


def _bag(results: Batch) -> Counter[Output]:
    """Return a multiset; the order of merging is no part of the contract."""
    return Counter(
        (key, None if value is None else "".join(sorted(value)), timestamp)
        for key, value, timestamp in results
    )
