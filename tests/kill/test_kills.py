"""`kill -9` of every kind of process, in every phase of a batch: results are exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker
from devtools.servers.s3 import ACCESS_KEY, SECRET_KEY, Bucket
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.state.log.directory import Directory
from tests.kill.kill_count import first_kills
from tests.kill.killed_app import Kill, KilledApp, LoopingApp, by_word
from tests.support.processes.batch_barriers import BEFORE_COMMIT

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(2_400)]

IN_DRIVER = ("running", "written", "all-done", "committed", "published")
IN_TASKS = ("running", "written", "task-done", "running", "task-done")
ON_EMBEDDED = tuple(
    kill
    for n in range(5)
    for kill in (
        ("driver", IN_DRIVER[n]),
        ("worker", IN_TASKS[n]),
        ("jvm", IN_DRIVER[-1 - n]),
        ("executor", IN_TASKS[-1 - n]),
    )
)
"""Kills of a loop: among others between object and delta, delta and commit, commit and next plan.
"""
ON_KAFKA = (
    ("driver", "all-done"),
    ("worker", "written"),
    ("jvm", "running"),
    ("executor", "running"),
    ("jvm", "committed"),
    ("worker", "task-done"),
    ("driver", "published"),
    ("executor", "task-done"),
)
EXACTLY_ONCE = (
    ("driver", "committed"),
    ("executor", "written"),
    ("jvm", "committed"),
    ("driver", "published"),
    ("worker", "task-done"),
    ("driver", "all-done"),
    ("executor", "running"),
    ("jvm", "running"),
    ("worker", "written"),
)
"""Kills with exactly-once results: many between staging and the transaction."""
ON_S3 = (
    ("driver", "all-done"),
    ("executor", "running"),
    ("jvm", "committed"),
    ("driver", "running"),
    ("worker", "task-done"),
)


def test_kill_plan_has_five_kills_of_each_process_kind_and_most_within_a_batch() -> None:
    targets = [target for target, _ in ON_EMBEDDED]

    assert {target: targets.count(target) for target in targets} == dict.fromkeys(
        ("driver", "jvm", "executor", "worker"), 5
    )
    assert sum(phase in BEFORE_COMMIT for _, phase in ON_EMBEDDED) >= 15


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
    assert [k for k in kills if k.phase != "published" and k.began <= k.noted] == []
    assert [k for k in kills if k.noted != k.committed - (k.phase == "committed")] == []


def test_embedded_topics_hold_each_result_once_after_kills(
    tmp_path: Path, victims: list[KilledApp]
) -> None:
    victims.append(killed_app := LoopingApp(tmp_path))

    run_series(killed_app, first_kills(ON_EMBEDDED, 8))

    assert by_word(killed_app.results()) == killed_app.expected()
    checkpoint, log = (
        Checkpoint.load(home_of(tmp_path / "checkpoint")),
        Directory(str(tmp_path / "log")),
    )
    (query,) = checkpoint.queries
    last = checkpoint.commits(query, log.open()).last()
    assert last is not None
    assert last.loops == ()
    assert killed_app.rebuilt() == killed_app.expected_store()


@pytest.mark.kafka
def test_kafka_has_all_results_and_only_identical_copies_after_kills(
    tmp_path: Path, victims: list[KilledApp], broker: KafkaBroker
) -> None:
    victims.append(killed_app := KilledApp(tmp_path, broker.bootstrap))

    run_series(killed_app, first_kills(ON_KAFKA, 3))

    check_on_kafka(killed_app)


@pytest.mark.kafka
def test_kafka_has_each_result_once_with_exactly_once_after_kills(
    tmp_path: Path, victims: list[KilledApp], broker: KafkaBroker
) -> None:
    """Read with the isolation level `read_committed`."""
    victims.append(killed_app := KilledApp(tmp_path, broker.bootstrap, exactly_once=True))

    run_series(killed_app, first_kills(EXACTLY_ONCE, 2))

    assert by_word(killed_app.results()) == killed_app.expected()
    assert killed_app.rebuilt() == killed_app.expected_store()


@pytest.mark.kafka
def test_kafka_has_all_results_with_a_checkpoint_on_s3_after_kills(
    tmp_path: Path, victims: list[KilledApp], broker: KafkaBroker, bucket: Bucket
) -> None:
    """Some kills hit a batch that was planned during the commit of the one before."""
    settings = {
        "url": f"s3://{bucket.name}/kills-{tmp_path.name}",
        "endpoint_url": bucket.endpoint,
        "region": "us-east-1",
        "access_key": ACCESS_KEY,
        "secret_key": SECRET_KEY,
    }
    victims.append(killed_app := KilledApp(tmp_path, broker.bootstrap, settings))
    killed_app.start()
    killed_app.advance()
    for target, phase in first_kills(ON_S3, 2):
        killed_app.emit(2)
        print(killed_app.strike(target, phase), flush=True)  # noqa: T201  # the table of kills
    killed_app.emit(3)
    killed_app.finish()
    assert not (tmp_path / "checkpoint").exists()
    check_on_kafka(killed_app)


def check_on_kafka(killed_app: KilledApp) -> None:
    """Check that results are complete and in order, with equal copies; rebuild the store from its
    changelog.
    """
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
    assert killed_app.rebuilt() == killed_app.expected_store()
