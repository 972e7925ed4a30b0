"""Each example runs alone and prints its expected lines."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

_EXAMPLES = Path(__file__).parents[2] / "examples"
_IDEAS = sorted(path for path in _EXAMPLES.glob("*.py") if not path.stem.endswith("_pb2"))
_ON_SERVERS = {"s3_to_sftp", "xml_files_to_amqp"}  # tested in test_with_servers.py
_ELSEWHERE = {"word_count", "custom_store", "custom_benchmark", "kafka_with_tls", "dataframes"}
_ON_SPARK = {
    "view": ["/docs: 1 visits, as of batch 0", "/home: 2 visits, as of batch 0"],
    "webhook_orders": [
        "[204, 204, 422, 204]",
        "4 received, 2 appended, 1 came again, 1 rejected, no gaps",
        "{'ann': 500}",
    ],
    "first_errors": [
        "shown: None -> '2.7. 11:00 ERROR'",
        "and the others:\nshown: None -> '2.7. 14:00 ERROR'",
    ],
    "savepoint_and_fork": ["its savepoint: 100", "a fork of it, which has read on: 150"],
}
_WITH_KAFKA = {
    "last_values": ["a one", "a one -> two", "b three"],
    "avro_projector": ["7 {'name': 'ann', 'towns': ['Bern']}"],
}
_WITH_REGISTRY = {
    "schema_registry": [
        "{'tea': {'item': 'tea'}}",
        "'tea': {'item': 'tea', 'note': 'from before'}",
    ],
}
_WITH_POSTGRES = {
    "changes_to_tables": [
        "[(1, 'tea for Nina'), (2, 'milk for Nina'), (3, 'salt for Ada')]",
        "[(1, 'tea for Nina Simone'), (3, 'salt for Ada'), (4, 'oil for Ada')]",
    ],
    "files_to_postgres": ["[('ann', 5), ('bob', 7)]", "[('ann', 8), ('bob', 7)]"],
    "orders_to_postgres": [
        "[('ann/1', 8), ('ann/2', 7), ('bob/1', 9)]",
        "[('ann', 'ann/1'), ('bob', 'bob/1')]",
    ],
}
_IN_MEMORY = {
    "late_records": ["ann, minute from 0 ms: 2 orders", "salt came 0 ms too late"],
    "top_pages": ["minute 0: / 3, /docs 2, /faq 1"],
    "sessions": ["ann: 3 clicks in 20 minutes", "ann: 2 clicks in 5 minutes"],
    "punctuator": ["order 2: please pay"],
    "dead_letters": ["ann: 125 cents", "set aside b'a lot': ValueError in a processor"],
    "branches": ["accepted {'ann': 500, 'bob': 200}", "to check {'eve': 1000000}"],
    "message_detector": [
        "'eve': Tally(sent=3, received=0)",
        "'bob': Tally(sent=0, received=2)",
        "spammers {'eve': Tally(sent=3, received=0)}",
        "and now {'eve': None}",
    ],
    "user_clicks": ["ann: reading, 1 clicks", "ann: reading, 2 clicks", "{'ann': (2, 0)}"],
    "message_filter": ["[('bob', 'hello dear Bob')]"],
    "order_state": ["o1 Order(paid=25, shipped_by='post')", "o1 None"],
    "page_views": ["asia: 2 views", "europe: 1 views", "unknown: 1 views"],
    "streams_page_views": ["asia: 2 views", "unknown: 1 views", "{'asia': '20000 ms too late'}"],
    "streams_top_ten": ["minute 0: / 3 /docs 2 /faq 1"],
    "foreign_keys": ["(2, 'Red by Nina Simone')", "albums of each artist {7: (2, 0)}"],
    "other_codecs": ["{'ann': 42} {'ann': User(clicks=42)} {'ann': 42.0}"],
    "parallel_calls": ["[('a', 1), ('to', 2), ('the', 3), ('lengthy', 7)]"],
    "deduplicated_migration": ["{'ann': 9, 'bob': 7}", "dropped {'duplicate': 2}"],
    "batch_processor": ["{'tea': 2.0, 'milk': 1.5}"],
    "protobuf_orders": ["total 350", "by minute [250, 100]"],
    "custom_window": ["shift from 04:00 2", "shift from 12:00 1"],
}


def run(name: str, capfd: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(_EXAMPLES / f"{name}.py"), run_name="__main__")
    return capfd.readouterr().out


@pytest.mark.parametrize("name", sorted(_IN_MEMORY))
def test_example_prints_its_expected_lines(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    shown = run(name, capfd)
    assert [line for line in _IN_MEMORY[name] if line not in shown] == []


@pytest.mark.spark
@pytest.mark.parametrize("name", sorted(_ON_SPARK))
def test_example_on_spark_prints_its_expected_lines(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = run(name, capfd)
    assert [line for line in _ON_SPARK[name] if line not in shown] == []


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize("name", sorted(_WITH_KAFKA))
@pytest.mark.parametrize("on", ["files", "Kafka"])
def test_example_on_files_and_on_kafka_prints_its_expected_lines(
    name: str,
    on: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    given = [request.getfixturevalue("broker").bootstrap] if on == "Kafka" else []
    monkeypatch.setattr("sys.argv", [name, *given])
    shown = run(name, capfd)
    assert [line for line in _WITH_KAFKA[name] if line not in shown] == []


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(_WITH_REGISTRY))
def test_example_with_a_registry_prints_its_expected_lines(
    name: str,
    registry_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("REGISTRY_URL", registry_url)
    shown = run(name, capfd)
    assert [line for line in _WITH_REGISTRY[name] if line not in shown] == []


@pytest.mark.spark
@pytest.mark.parametrize("name", sorted(_WITH_POSTGRES))
def test_example_with_postgres_prints_its_expected_lines(
    name: str,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", [name, database])
    shown = run(name, capfd)
    assert [line for line in _WITH_POSTGRES[name] if line not in shown] == []


def test_every_example_has_a_test() -> None:
    found = {path.stem for path in _IDEAS}
    assert found == {
        *_IN_MEMORY,
        *_ON_SPARK,
        *_WITH_KAFKA,
        *_WITH_REGISTRY,
        *_WITH_POSTGRES,
        *_ON_SERVERS,
        *_ELSEWHERE,
    }


@pytest.mark.parametrize("path", _IDEAS, ids=lambda path: path.stem)
def test_example_is_short(path: Path) -> None:
    longest = {
        "changes_to_tables": 120,
        "custom_store": 100,
        "dataframes": 70,
        "webhook_orders": 75,
    }.get(path.stem, 60)
    assert 20 <= len(path.read_text().splitlines()) <= longest
