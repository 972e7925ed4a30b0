"""Compare the results of a run with the expected results of a case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.support.conformance.case import Case, Output
from tests.support.conformance.driver_engine import Answer
from tests.support.models.join_models import ForeignKeyModel, expected_of

Batch = Sequence[Output]


def problem(case: Case, answer: Answer, *, cut: str) -> str | None:
    """Return a description of the first wrong result, or None if the answer is correct."""
    if case.expected is None:
        return None
    if case.is_join and cut != "1":
        return _unlike_model(case, answer, cut)
    expected = [
        [result for place in batch for result in case.expected[place]]
        for batch in case.batches(cut)
    ]
    actual: Sequence[Batch] = answer.batches
    if cut != "1" and case.emit == "update":
        expected, actual = last_of_each(expected), last_of_each(actual)
    if case.compare == "total":
        expected, actual = [_flat(expected)], [_flat(actual)]
    found = _difference(case, expected, actual)
    if found is not None:
        return found
    if case.dropped is not None and case.dropped != answer.dropped:
        return f"expected {case.dropped} dropped, got {answer.dropped}"
    return None


def _unlike_model(case: Case, answer: Answer, cut: str) -> str | None:
    """Compare a join with its model: Kafka's test driver merges no topics, so it has no answer.

    Of a foreign-key join, only the table at the end of each batch is the same for any cut.
    """
    if case.op == "fk_join":
        return _unlike_tables(case, answer, cut)
    expected = expected_of(case, cut)
    return _difference(case, expected, answer.batches)


def _unlike_tables(case: Case, answer: Answer, cut: str) -> str | None:
    model, shown = ForeignKeyModel(case.how), dict[str, str]()
    for number, batch in enumerate(case.batches(cut)):
        for place in batch:
            model.take(case.inputs[place])
        for key, value, _ in answer.batches[number]:
            if value is None:
                shown.pop(str(key), None)
            else:
                shown[str(key)] = value
        if shown != model.table():
            return f"batch {number}: expected the table {model.table()}, got {shown}"
    return None


def _difference(case: Case, expected: Sequence[Batch], actual: Sequence[Batch]) -> str | None:
    """Return the first batch with other results, in whatever order, or None."""
    bag = Counter[Output] if case.is_join else _bag
    for number, (wanted, got) in enumerate(zip(expected, actual, strict=True)):
        if bag(wanted) != bag(got):
            return f"batch {number}: expected {list(wanted)}, got {list(got)}"
    return None


def last_of_each(batches: Iterable[Batch]) -> list[list[Output]]:
    """Keep the last result of each key and window in each batch.

    A deleted session is left out unless an earlier batch had emitted it.
    """
    shown: set[str | None] = set()
    kept: list[list[Output]] = []
    for batch in batches:
        last = {result[0]: result for result in batch}
        kept.append([r for r in last.values() if r[1] is not None or r[0] in shown])
        shown |= {key for key, value, _ in last.values() if value is not None}
    return kept


def _flat(batches: Iterable[Batch]) -> list[Output]:
    return [result for batch in batches for result in batch]


def _bag(results: Batch) -> Counter[Output]:
    """Return a multiset of results; the order of merged topics is not guaranteed."""
    return Counter(
        (key, None if value is None else "".join(sorted(value)), timestamp)
        for key, value, timestamp in results
    )
