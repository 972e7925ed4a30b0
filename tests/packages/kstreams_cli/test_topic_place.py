"""Place of topics and checkpoints, by options, environment and defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import Embedded
from kstreams.io import Kafka
from kstreams_cli.pairs import pairs_of, read_pairs
from kstreams_cli.place import Place, find_place
from kstreams_cli.usage import WrongUsageError
from tests.support.cli.command_line import kstreams


def place(data: str | None = None, bootstrap: str | None = None, **environment: str) -> Place:
    return find_place(data, bootstrap, None, None, environment)


def test_topics_are_in_folder_data_by_default() -> None:
    assert place() == Place(Embedded("data"), "data", is_kafka=False)


def test_environment_variables_select_data_folder_or_broker() -> None:
    assert place(KSTREAMS_DATA="d").connection == Embedded("d")
    assert place(KSTREAMS_BOOTSTRAP="b:1").label == "b:1"


def test_place_options_override_environment() -> None:
    assert place(data="d", KSTREAMS_BOOTSTRAP="b:1").connection == Embedded("d")
    assert place(bootstrap="b:1", KSTREAMS_DATA="d").is_kafka


def test_data_folder_and_bootstrap_together_are_refused() -> None:
    with pytest.raises(WrongUsageError, match="not both"):
        place("d", "b:1")
    with pytest.raises(WrongUsageError, match="are both set"):
        place(KSTREAMS_DATA="d", KSTREAMS_BOOTSTRAP="b:1")


def test_embedded_topics_accept_no_client_options() -> None:
    with pytest.raises(WrongUsageError, match="give --bootstrap"):
        find_place(None, None, ["a=b"], None, {})
    with pytest.raises(WrongUsageError, match="local disk"):
        place("s3://bucket/x")


def test_client_options_of_command_line_override_those_of_file(tmp_path: Path) -> None:
    file = tmp_path / "kafka.properties"
    file.write_text("# how\nsecurity.protocol=SSL\n\nsasl.password = a=b \nclient.id=file\n")
    found = find_place(None, "b:1", ["client.id=line"], file, {})
    assert repr(found.connection) == (
        "Kafka('b:1', {'client.id': 'line', 'sasl.password': '[redacted]', "
        "'security.protocol': 'SSL'})"
    )
    assert read_pairs(file, "--options-file")["sasl.password"] == "a=b"


def test_topic_place_does_not_print_secrets(tmp_path: Path) -> None:
    (tmp_path / "options").write_text("client.id=x\nsasl.password hunter2\n")
    results = [
        kstreams("topics", "list", "--bootstrap", "b:1", *more)
        for more in (
            ["--option", "sasl.password:hunter2"],
            ["--options-file", "options"],
            ["--option", "sasl.password=hunter2", "--option", "partitioner=x"],
        )
    ]
    assert [r.exit_code for r in results] == [2, 2, 2]
    assert "hunter2" not in "".join(r.output for r in results)
    assert "number 1 is not name=value" in results[0].stderr
    assert "line 2 of options is not name=value" in results[1].stderr
    assert "partitioner in options is set by kstreams" in results[2].stderr


def test_client_options_are_split_at_first_equals_sign() -> None:
    assert pairs_of(["a=b=c", "d= e ", "a=x"], "--option") == {"a": "x", "d": "e"}
    with pytest.raises(WrongUsageError):
        pairs_of(["=x"], "--option")


def test_missing_file_of_client_options_is_usage_error(tmp_path: Path) -> None:
    with pytest.raises(WrongUsageError, match="cannot read"):
        read_pairs(tmp_path / "none", "--options-file")


def test_secret_on_the_command_line_logs_a_warning_and_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "options").write_text("sasl.password=hunter2\n")
    given = ["--option", "sasl.password=hunter2", "--option", "partitioner=x"]
    warned = kstreams("topics", "list", "--bootstrap", "b:1", *given)
    assert "can read sasl.password in the list of processes. Use --options-file" in warned.stderr
    file = ["--options-file", str(tmp_path / "options"), "--option", "partitioner=x"]
    silent = kstreams("topics", "list", "--bootstrap", "b:1", *file)
    assert "list of processes" not in silent.stderr
    for wrong in ("user:hunter2@b:1", "hunter2@b:1"):
        refused = kstreams("topics", "list", "--debug", "--bootstrap", wrong)
        assert refused.exit_code == 2
        assert "hunter2" not in refused.output
    assert "hunter2" not in warned.output + silent.output


def test_exactly_once_changes_delivery_on_kafka_and_leaves_embedded_topics_unchanged() -> None:
    embedded = place()
    assert embedded.exactly_once() is embedded
    assert place(bootstrap="b:1").exactly_once().connection == Kafka("b:1", delivery="exactly-once")


def test_client_options_of_environment_apply_only_to_its_brokers() -> None:
    given = {"KSTREAMS_BOOTSTRAP": "b:1", "KSTREAMS_OPTIONS": '{"sasl.password": "a=b\\nc"}'}
    assert place(**given).connection == Kafka("b:1", {"sasl.password": "a=b\nc"})
    assert place(bootstrap="c:1", **given).connection == Kafka("c:1")
    won = find_place(None, None, ["sasl.password=d"], None, given)
    assert won.connection == Kafka("b:1", {"sasl.password": "d"})
    with pytest.raises(WrongUsageError, match="is not a JSON object") as caught:
        place(KSTREAMS_BOOTSTRAP="b:1", KSTREAMS_OPTIONS="[secret")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "made", [place("d"), find_place(None, "b:1", ["sasl.password=x"], None, {})]
)
def test_topic_place_is_passed_to_another_command_with_its_options(made: Place) -> None:
    assert place(**made.environment).connection == made.connection
