"""`kill -9` of every kind of process, in every phase of a batch: one truth remains."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams import View
from kstreams.checkpoint.changelog_restore import ChangelogRestore
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from tests.kill.app import COUNTS, build
from tests.kill.barriers import BEFORE_COMMIT
from tests.kill.killed_app import Kill, KilledApp, by_word

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(1_800)]

ON_EMBEDDED = (
    ("driver", "running"),
    ("worker", "running"),
    ("jvm", "all-done"),
    ("executor", "written"),
    ("driver", "committed"),
    ("worker", "task-done"),
    ("executor", "running"),
    ("jvm", "published"),
    ("driver", "written"),
    ("executor", "task-done"),
)
ON_KAFKA = (
    ("driver", "all-done"),
    ("worker", "written"),
    ("jvm", "running"),
    ("executor", "running"),
    ("jvm", "committed"),
    ("worker", "task-done"),
    ("driver", "published"),
    ("executor", "task-done"),
    ("jvm", "task-done"),
    ("worker", "running"),
)


def test_the_plan_is_five_kills_of_each_kind_and_most_of_them_inside_a_batch() -> None:
    kills = ON_EMBEDDED + ON_KAFKA
    targets = [target for target, _ in kills]

    assert {target: targets.count(target) for target in targets} == dict.fromkeys(
        ("driver", "jvm", "executor", "worker"), 5
    )
    assert sum(phase in BEFORE_COMMIT for _, phase in kills) >= 15


def run_series(killed_app: KilledApp, plan: tuple[tuple[str, str], ...]) -> None:
    """Kill by plan in one run of an app, then let it finish, and check where kills hit."""
    killed_app.start()
    killed_app.advance()
    kills: list[Kill] = []
    for target, phase in plan:
        kills.append(killed_app.strike(target, phase))
        print(kills[-1], flush=True)  # noqa: T201  # the table of kills
    killed_app.emit(3)
    killed_app.finish()

    inside = [kill.before_commit for kill in kills]
    assert inside == [phase in BEFORE_COMMIT for _, phase in plan]
    assert [k for k in kills if k.spark_began <= k.spark_ended] == []


def rebuilt(killed_app: KilledApp) -> dict[str, int]:
    """Lose the store's objects, rebuild it from its changelog, and return what it holds."""
    place, log = killed_app.folder / "checkpoint", Directory(str(killed_app.folder / "log"))
    checkpoint, objects = Checkpoint.load(place), log.open()
    for query in checkpoint.queries:
        last = checkpoint.commits(query, objects).last()
        assert last is not None
        objects.delete(ref.name for p in last.pointers().values() for ref in p.objects())
    topology = build(killed_app.folder.name)
    job = ChangelogRestore(
        checkpoint, topology, killed_app.connection, Memory(), objects, "rebuild"
    )
    job.run_all(job.stores(), lambda _: None)
    with View(place, COUNTS, log=log) as view:
        return dict(view.items())


def totals(killed_app: KilledApp) -> dict[str, int]:
    """Return what the store must hold."""
    return {word: counts[-1] for word, counts in killed_app.expected().items()}


def test_embedded_topics_hold_each_result_once(tmp_path: Path, victims: list[KilledApp]) -> None:
    victims.append(killed_app := KilledApp(tmp_path))

    run_series(killed_app, ON_EMBEDDED)

    assert by_word(killed_app.results()) == killed_app.expected()
    assert rebuilt(killed_app) == totals(killed_app)


@pytest.mark.kafka
def test_on_kafka_nothing_is_missing_and_copies_are_identical(
    tmp_path: Path, victims: list[KilledApp], broker: KafkaBroker
) -> None:
    victims.append(killed_app := KilledApp(tmp_path, broker.bootstrap))

    run_series(killed_app, ON_KAFKA)

    records = killed_app.results()
    first: dict[bytes | None, tuple[object, ...]] = {}
    originals, copies = [], 0
    for record in records:
        id_ = dict(record.headers)["kstreams-id"]
        content = (record.key, record.value, record.timestamp, record.headers, record.partition)
        if id_ not in first:
            originals.append(record)
        copies += id_ in first
        assert first.setdefault(id_, content) == content
    print(f"{len(records)} records, {copies} of them copies")  # noqa: T201
    assert by_word(originals) == killed_app.expected()
    assert rebuilt(killed_app) == totals(killed_app)
