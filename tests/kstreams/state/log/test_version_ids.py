"""The version id of a version is recomputed from its objects, to detect missing or wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kstreams import INT64, TEXT, key_value_store
from kstreams.state.log.durable import checked_link
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams.state.log.version_ids import Link, line_problem
from tests.support.apps.committing_app import Committing

SPEC = key_value_store("counts", key=TEXT, value=INT64)
BATCHES = 40


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Committing:
    """An app whose batches include mergers and snapshots."""
    made = Committing(tmp_path_factory.mktemp("app"), SPEC)
    for batch in range(BATCHES):
        made.put((f"key-{number}", batch) for number in range(6 if batch else 600))
    return made


def pointers_of(app: Committing) -> Iterator[Pointer]:
    for commit in app.commits.all():
        yield from commit.pointers().values()


def links_of(app: Committing, pointer: Pointer) -> dict[ObjectRef, Link]:
    return {ref: checked_link(app.objects, ref) for ref in pointer.deltas}


def long_one(app: Committing) -> Pointer:
    """Return a version with a snapshot, a merger and deltas."""
    return next(
        p
        for p in pointers_of(app)
        if p.snapshot and len(p.deltas) > 2 and any(r.name.endswith(".run") for r in p.deltas)
    )


def test_version_id_of_each_version_is_valid(app: Committing) -> None:
    found = list(pointers_of(app))
    assert len(found) == 3 * BATCHES
    assert {line_problem(pointer, links_of(app, pointer)) for pointer in found} == {""}
    long_one(app)


def test_wrong_version_id_is_detected(app: Committing) -> None:
    pointer = long_one(app)
    forged = replace(pointer, version_id="ab" * 32)
    assert "it ends at version" in line_problem(forged, links_of(app, pointer))
    later = replace(pointer, version=pointer.version + 1)
    assert "it ends at version" in line_problem(later, links_of(app, pointer))


def test_missing_delta_is_detected(app: Committing) -> None:
    pointer = long_one(app)
    for at in range(len(pointer.deltas)):
        deltas = (*pointer.deltas[:at], *pointer.deltas[at + 1 :])
        problem = line_problem(replace(pointer, deltas=deltas), links_of(app, pointer))
        assert "deltas are missing between" in problem or "it ends at version" in problem


def test_delta_of_another_attempt_is_detected(app: Committing) -> None:
    pointer = long_one(app)
    links = links_of(app, pointer)
    own = pointer.deltas[-2]
    links[own] = replace(links[own], version_id="cd" * 32)
    assert "does not continue the delta before it" in line_problem(pointer, links)


def test_wrong_snapshot_is_detected(app: Committing) -> None:
    pointer = long_one(app)
    links = links_of(app, pointer)
    first = pointer.deltas[0]
    links[first] = replace(links[first], first=pointer.base + 1)
    forged = replace(pointer, base_version_id="cd" * 32)
    assert "does not continue the delta before it" in line_problem(forged, links)


def test_version_id_fields_missing_in_earlier_format_are_not_checked(app: Committing) -> None:
    pointer = long_one(app)
    links = links_of(app, pointer)
    run = next(ref for ref in pointer.deltas if ref.name.endswith(".run"))
    links[run] = Link(0, links[run].version, "", "")
    assert line_problem(replace(pointer, base_version_id=""), links) == ""
    assert line_problem(replace(pointer, version_id="ab" * 32), links) != ""
