"""`kstreams topics replay`: its output and its refusals."""

from __future__ import annotations

import json

import pytest

from kstreams import Embedded
from tests.support.cli.command_line import kstreams, say
from tests.support.topologies.dead_letter_topics import ORDERS, add, headers_of, records


@pytest.fixture
def topics() -> Embedded:
    made = Embedded("data", default_partitions=2)
    made.ensure(ORDERS)
    made.ensure("dead")
    add(made, "dead", (b"k", b"1", headers_of()), (b"k", b"2", headers_of(kind="[red]Limit")))
    return made


def test_replay_sends_nothing_in_dry_run_then_selected_and_then_remaining_dead_letters(
    topics: Embedded,
) -> None:
    dry = kstreams("topics", "replay", "dead", "--dry-run")
    assert "2 records would be replayed" in dry.stderr
    assert "[red]Limit" in dry.stdout
    assert records(topics) == []
    chosen = kstreams("topics", "replay", "dead", "--where", "class=Serde*")
    assert "1 record replayed" in chosen.stderr
    assert "1 record skipped: not chosen" in chosen.stderr
    rest = json.loads(say("topics", "replay", "dead", "--json"))
    assert rest == {
        "topic": "dead",
        "dry_run": False,
        "sent": [{"class": "[red]Limit", "topic": "orders", "records": 1}],
        "left": {"already replayed": 1},
    }
    assert sorted(record.value or b"" for record in records(topics)) == [b"1", b"2"]


@pytest.mark.usefixtures("topics")
@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("dead", "--where", "klass=x"), 2),
        (("dead", "--where", "class"), 2),
        (("dead", "--max-attempts", "0"), 2),
        (("nowhere",), 1),
    ],
    ids=["unknown name", "no value", "no attempt", "no topic"],
)
def test_replay_refuses_invalid_options(options: tuple[str, ...], code: int) -> None:
    assert kstreams("topics", "replay", *options).exit_code == code
