"""Commands over HTTP: their effects, their log, and invalid ones."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kstreams.checkpoint.pause import present_pause
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams_serve.app_commands import ORDERS
from kstreams_serve.served_app import ServedApp
from tests.packages.kstreams_serve.guards import an_app
from tests.packages.kstreams_serve.socketless_client import Asked, asked
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import ACTING, ACTOR, TOKEN, Answer

PLACE = "/v1/apps/viewed/orders"


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asked]:
    with asked((an_app(tmp_path), COUNTS), settings=ACTING) as found:
        yield found


def order(ask: Asked, **given: object) -> Answer:
    return ask(PLACE, token=ACTOR, body=given, address="10.0.0.7")


def the_app(ask: Asked) -> ServedApp:
    return ask.server.context.app("viewed")


def test_pause_stores_its_author_and_second_pause_keeps_the_first(
    ask: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    found = order(ask, order="pause", reason="a move\nof tables").json
    paused = found.pop("paused")
    assert found == {"app": "viewed", "order": "pause", "changed": True}
    assert (paused["reason"], paused["by"]) == ("a move\\nof tables", "anna, from 10.0.0.7")
    pause = present_pause(the_app(ask).home)
    assert pause is not None
    assert (pause.since_ms, pause.by) == (paused["since_ms"], paused["by"])
    assert order(ask, order="pause").json == {**found, "changed": False, "paused": paused}
    assert order(ask, order="resume").json["changed"] is True
    assert present_pause(the_app(ask).home) is None
    assert order(ask, order="resume").json["changed"] is False
    said = [r.getMessage() for r in caplog.records if r.name == "kstreams.serve.app_commands"]
    by = "by anna, from 10.0.0.7"
    assert said == [
        f"order done, app viewed: pause 'a move\\nof tables', {by}",
        f"order changes nothing, app viewed: pause 'no reason was given', {by}",
        f"order done, app viewed: resume, {by}",
        f"order changes nothing, app viewed: resume, {by}",
    ]
    assert ACTOR not in caplog.text


def test_repeated_savepoint_command_makes_savepoint_once(
    ask: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    point = order(ask, order="savepoint", name="before/ü").json["savepoint"]
    assert (point["name"], point["batches"]) == ("before/ü", {"in": 0})
    again = order(ask, order="savepoint", name="before/ü")
    assert (again.status, "already" in again.json["detail"]) == (409, True)
    app = the_app(ask)
    assert Savepoints(app.checkpoint, app.objects()).names() == ["before/ü"]
    assert "order not done, app viewed: savepoint 'before/ü'" in caplog.text


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"order": "reset"},
        {"order": ["pause"]},
        {"order": "resume", "reason": "why"},
        {"order": "pause", "name": "x"},
        {"order": "pause", "reason": 5},
        {"order": "pause", "reason": "x" * 501},
        {"order": "savepoint"},
        {"order": "savepoint", "name": ""},
        {"order": "savepoint", "name": "a", "reason": "b"},
    ],
)
def test_invalid_app_command_has_no_effect(ask: Asked, given: dict[str, Any]) -> None:
    assert order(ask, **given).status == 400
    assert present_pause(the_app(ask).home) is None


@pytest.mark.parametrize("name", ["..", "@", "a\x00b", "x" * 300])
def test_savepoint_command_without_name_is_refused(ask: Asked, name: str) -> None:
    assert order(ask, order="savepoint", name=name).status == 400


def test_unwritable_checkpoint_is_reported(ask: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere/secret")

    monkeypatch.setattr(type(the_app(ask).home), "note_pause", refuse)
    found = order(ask, order="pause")
    assert (found.status, found.json["detail"]) == (
        409, "the checkpoint cannot be written: Permission denied",
    )  # fmt: skip


def test_app_commands_are_described_in_openapi(ask: Asked) -> None:
    found = json.loads(ask("/openapi.json").data)["paths"]["/v1/apps/{app}/orders"]["post"]
    assert found["description"] == "Needs the role act."
    schema = found["requestBody"]["content"]["application/json"]["schema"]
    assert (schema["required"], set(schema["properties"])) == (
        ["order"],
        {"order", "reason", "name"},
    )
    assert schema["properties"]["order"]["enum"] == list(ORDERS)


def test_role_act_may_read_and_role_data_may_not_send_app_commands(ask: Asked) -> None:
    assert ask("/v1/apps/viewed/stores/counts/key?key=a", token=ACTOR).status == 200
    refused = ask(PLACE, token=TOKEN, body={"order": "pause"})
    assert (refused.status, "the role act" in refused.json["detail"]) == (403, True)
    assert checkpoint_of(the_app(ask).home.directory or Path()).pause_note() is None
