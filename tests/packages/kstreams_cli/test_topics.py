"""`kstreams topics` creates, lists, describes and deletes topics."""

from __future__ import annotations

import json

import pytest

from kstreams import Embedded
from tests.support.cli.command_line import kstreams, say


def test_topics_are_created_listed_described_and_deleted() -> None:
    say("topics", "create", "lines", "--partitions", "3", "--config", "retention.ms=-1")
    say("topics", "produce", "lines", given="a\t1\nb\t2\nc\t3\n")

    listed = say("topics", "list").splitlines()
    assert [line.split() for line in listed] == [
        ["topic", "partitions", "records"],
        ["lines", "3", "3"],
    ]
    described = say("topics", "describe", "lines")
    assert described.startswith("lines  3 partitions, 3 records\n")
    assert "retention.ms  -1" in described
    assert say("topics", "delete", "lines", "--yes") == "Deleted topic lines.\n"
    assert say("topics", "list", "--quiet") == ""


def test_topics_list_and_describe_print_json() -> None:
    say("topics", "create", "lines", "-p", "2", "--config", "a=b=c")
    say("topics", "produce", "lines", given="k\tv\nk\tw\n")

    assert json.loads(say("topics", "list", "--format", "json")) == [
        {"name": "lines", "partitions": 2, "records": 2}
    ]
    described = json.loads(say("topics", "describe", "lines", "--format", "json"))
    assert described["config"] == {"a": "b=c"}
    assert [p["partition"] for p in described["partitions"]] == [0, 1]
    assert sum(p["end"] - p["begin"] for p in described["partitions"]) == 2


def test_existing_topic_is_not_created_again() -> None:
    say("topics", "create", "lines", "-p", "2")
    again = kstreams("topics", "create", "lines", "-p", "2")
    assert again.exit_code == 1
    assert again.stderr == "TopicExistsError: the topic already exists\nat topic 'lines'\n"
    assert "already exists" in say("topics", "create", "lines", "-p", "2", "--if-missing")


@pytest.mark.parametrize("command", ["describe", "produce", "tail", "delete"])
def test_missing_topic_is_an_error_with_a_suggestion(command: str) -> None:
    say("topics", "create", "lines", "-p", "2")
    result = kstreams("topics", command, "linse", given="x\n")
    assert result.exit_code == 1
    assert "there is no topic 'linse' in data" in result.stderr
    assert "did you mean 'lines'?" in result.stderr
    assert "kstreams topics create linse --partitions 4 --data data" in result.stderr
    assert say("topics", "list", "-q") == "lines\n"


def test_topics_list_of_empty_place_names_the_place() -> None:
    result = kstreams("topics", "list", "--data", "elsewhere")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "There are no topics in elsewhere.\n"


def test_topics_delete_asks_for_confirmation() -> None:
    say("topics", "create", "lines", "-p", "1")
    say("topics", "produce", "lines", given="x\n")
    refused = kstreams("topics", "delete", "lines", given="n\n")
    assert refused.exit_code == 1
    assert "Topic lines in data has 1 record." in refused.stderr
    assert Embedded("data").admin().topics() == ("lines",)
    assert kstreams("topics", "delete", "lines", given="y\n").exit_code == 0
    assert Embedded("data").admin().topics() == ()


def test_topics_delete_with_an_unknown_name_deletes_no_topic() -> None:
    say("topics", "create", "lines", "-p", "1")
    assert kstreams("topics", "delete", "lines", "lanes", "--yes").exit_code == 1
    assert say("topics", "list", "-q") == "lines\n"


def test_topics_create_refuses_zero_partitions() -> None:
    assert kstreams("topics", "create", "lines", "-p", "0").exit_code == 2
    assert kstreams("topics", "create", "lines").exit_code == 2


def test_topics_create_refuses_too_many_partitions() -> None:
    result = kstreams("topics", "create", "lines", "--partitions", "1000000000")
    assert result.exit_code == 2
    assert "less than or equal to 10000" in result.output
