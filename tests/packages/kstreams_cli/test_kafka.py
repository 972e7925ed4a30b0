"""Commands for topics on a Kafka broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker
from devtools.servers.raw_produce import RawBytes, produce_raw
from tests.support.cli.command_line import kstreams, say

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


def test_topic_commands_create_fill_show_and_delete_topic_on_kafka(
    broker: KafkaBroker, topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSTREAMS_BOOTSTRAP", broker.bootstrap)
    say("topics", "create", topic_name, "-p", "3", "--config", "retention.ms=-1")
    assert kstreams("topics", "create", topic_name, "-p", "3").exit_code == 1
    say(
        *("topics", "produce", topic_name, "--value-serde", "int64", "--timestamp", "field"),
        *("--header", "h=x"),
        given="1000\tann\t1\n2000\tbob\t2\n3000\tann\t3\n",
    )

    listed = [line.split() for line in say("topics", "list").splitlines()]
    assert [topic_name, "3", "3"] in listed
    described = json.loads(say("topics", "describe", topic_name, "--format", "json"))
    assert described["config"]["retention.ms"] == "-1"
    assert "at most 3 records" in say("topics", "describe", topic_name)

    tail = ["topics", "tail", topic_name, "--value-serde", "int64"]
    shown = [line.split("\t") for line in say(*tail).splitlines()]
    assert [line[2:] for line in shown] == [
        ["1970-01-01T00:00:01.000Z", "ann", "1", "h=x"],
        ["1970-01-01T00:00:02.000Z", "bob", "2", "h=x"],
        ["1970-01-01T00:00:03.000Z", "ann", "3", "h=x"],
    ]
    late = say(*tail, "--from", "1970-01-01T00:00:02Z", "--limit", "1")
    assert late.split("\t")[3] == "bob"

    near = kstreams("topics", "tail", topic_name[:-1])
    assert f"did you mean '{topic_name}'?" in near.stderr
    say("topics", "delete", topic_name, "--yes")
    assert topic_name not in say("topics", "list", "--quiet").splitlines()


def test_tail_continues_after_record_with_undecodable_headers(
    broker: KafkaBroker, topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSTREAMS_BOOTSTRAP", broker.bootstrap)
    broker.create_topic(topic_name)
    bad = RawBytes(b"bad", timestamp=-1, headers=[(b"\xff", b"1")])
    produce_raw(broker.bootstrap, topic_name, [bad, RawBytes(b"far", timestamp=2**62)])
    first, second = [line.split("\t") for line in say("topics", "tail", topic_name).splitlines()]
    assert first[2:4] == ["1969-12-31T23:59:59.999Z", "bad"]
    assert "not UTF-8" in first[5]
    assert second[2:4] == [f"@{2**62}", "far"]
    line = say("topics", "tail", topic_name, "--format", "json", "--limit", "1")
    assert json.loads(line)["undecodable"] == ["headers"]


def test_secret_options_are_read_from_file_and_not_printed(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    options = tmp_path / "kafka.properties"
    options.write_text(
        "security.protocol=SSL\nssl.ca.location=/nowhere.pem\nssl.key.password=hunter2\n"
    )
    result = kstreams(
        *("topics", "list", "--debug", "--bootstrap", broker.bootstrap),
        *("--options-file", str(options)),
    )
    assert result.exit_code == 1
    assert "KafkaOptionsError: " in result.stderr
    assert "hunter2" not in result.output
