"""`branch` forwards each record to the first matching branch."""

from __future__ import annotations

import pickle

from kstreams import Record
from kstreams.processors.branch import Branch, PassThrough
from tests.support.apps.recording_context import opened, run


def small(key: str, value: int) -> bool:
    return value < 10


def even(key: str, value: int) -> bool:
    return value % 2 == 0


def children(default: str | None, *values: int) -> tuple[list[str], list[str]]:
    supplier = Branch.supplier("n", {"small": small, "even": even}, default)
    processor, context = opened(pickle.loads(pickle.dumps(supplier)))
    for value in values:
        processor.process(Record("k", value))
    return [child for child, _ in context.forwarded], context.dropped


def test_first_matching_branch_gets_record() -> None:
    assert children(None, 4, 5, 12) == (["n.small", "n.small", "n.even"], [])


def test_default_branch_gets_unmatched_records() -> None:
    assert children("rest", 11, 13) == (["n.rest", "n.rest"], [])


def test_branch_without_default_counts_unmatched_records_as_dropped() -> None:
    assert children(None, 11) == ([], ["no-branch"])


def test_branch_ignores_later_changes_of_given_mapping() -> None:
    branches = {"small": small}
    supplier = Branch.supplier("n", branches, None)
    branches["even"] = even
    processor, context = opened(supplier)
    processor.process(Record("k", 12))
    assert (context.forwarded, context.dropped) == ([], ["no-branch"])


def test_pass_through_processor_forwards_records_unchanged_without_own_method() -> None:
    record = Record("k", 1)
    processor, context = opened(PassThrough)
    assert processor.process == context.forward
    assert run(PassThrough, [record])[0] is record
    assert PassThrough.keeps_key
