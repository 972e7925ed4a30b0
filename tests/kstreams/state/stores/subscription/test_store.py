"""Left rows by foreign key: ordered, separate, through changelogs and migrations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import BYTES, INT64, TEXT
from kstreams.checkpoint.start.migration import Migration, migrate_store
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.subscription.kind import subscription_store
from kstreams.state.stores.subscription.rows import SubscriptionRows

SPEC = subscription_store("s", foreign=BYTES, key=BYTES, value=INT64)

keys = st.binary(max_size=3) | st.sampled_from([b"", b"a", b"ab", b"a\0", b"a\0\0", b"\xff"])
changes = st.lists(st.tuples(keys, keys, st.none() | st.integers(0, 9)), max_size=12)


def change(rows: SubscriptionRows, key: bytes, own: bytes, value: int | None) -> None:
    if value is None:
        rows.put(rows.prefix(key) + own, None)
    else:
        rows.set(key, own, value)


def filled(base: MemoryStore, made: Any) -> dict[tuple[bytes, bytes], int]:
    """Make changes, half of them in a stored version; return the expected rows."""
    model: dict[tuple[bytes, bytes], int] = {}
    for half in (made[: len(made) // 2], made[len(made) // 2 :]):
        overlay = Overlay(base)
        rows = SubscriptionRows.of(SPEC.open(overlay))
        for key, own, value in half:
            change(rows, key, own, value)
            model.pop((key, own), None)
            if value is not None:
                model[key, own] = value
        base.write(overlay.changes())
    return model


@given(made=changes)
def test_fetch_returns_rows_of_foreign_key(made: Any) -> None:
    base = MemoryStore(["s"])
    model = filled(base, made)
    store = SPEC.open(Overlay(base))
    expected = [(key, (own, value)) for (key, own), value in sorted(model.items())]
    assert list(store.range()) == expected
    assert list(store.range(reverse=True)) == expected[::-1]
    for key in {key for key, _, _ in made} | {b"", b"a"}:
        assert list(store.fetch(key)) == [pair for found, pair in expected if found == key]
        assert list(store.range(key)) == [row for row in expected if row[0] >= key]


@given(made=changes, fresh=changes, asked=st.sets(keys, max_size=6))
def test_rows_of_many_foreign_keys_equal_rows_of_each(made: Any, fresh: Any, asked: Any) -> None:
    base = MemoryStore(["s"])
    filled(base, made)
    rows = SubscriptionRows.of(SPEC.open(Overlay(base)))
    for key, own, value in fresh:
        change(rows, key, own, value)
    prefixes = sorted(map(rows.prefix, asked))
    expected = [
        (number, *pair) for number, each in enumerate(prefixes) for pair in rows.within(each)
    ]
    assert list(rows.within_each(prefixes)) == expected


@pytest.mark.parametrize("step", [1, 10, 60])
def test_rows_of_each_requested_foreign_key_among_many_are_found(step: int) -> None:
    """Short gaps between keys are scanned, and long ones skipped."""
    base = MemoryStore(["s"])
    overlay = Overlay(base)
    rows = SubscriptionRows.of(SPEC.open(overlay))
    for number in range(300):
        rows.set(b"%03d" % number, b"own", number)
    base.write(overlay.changes())
    rows = SubscriptionRows.of(SPEC.open(Overlay(base)))
    prefixes = [rows.prefix(b"%03d" % number) for number in range(0, 400, step)]
    found = [(number, row) for number, row, _ in rows.within_each(prefixes)]
    assert found == [
        (place, rows.prefix(b"%03d" % number) + b"own")
        for place, number in enumerate(range(0, 300, step))
    ]


@given(made=changes)
def test_store_is_rebuilt_by_changelog_and_by_migration(made: Any) -> None:
    base = MemoryStore(["s"])
    filled(base, made)
    form = SPEC.changelog_form()
    overlay = Overlay(MemoryStore(["s"]))
    restore = form.restoring(overlay)
    for record in form.records(list(base.scan("s", None, None)), lambda _: [], 0):
        restore(record)
    rows = list(SPEC.open(Overlay(base)).range())
    assert list(SPEC.open(overlay).range()) == rows
    target = MemoryStore(["s"])
    assert migrate_store(Migration(SPEC), SPEC, base, target) == len(rows)
    assert list(target.scan("s", None, None)) == list(base.scan("s", None, None))


@pytest.mark.parametrize("foreign", [TEXT, INT64])
def test_views_route_requests_by_foreign_key(foreign: Any) -> None:
    kind = subscription_store("s", foreign=foreign, key=TEXT, value=TEXT).kind
    assert kind.routed_by("a") == "a"
