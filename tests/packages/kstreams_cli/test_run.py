"""`kstreams run` and `reset` as separate processes on Spark."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.cli.command_line import kstreams, say, words_module
from tests.support.servers.otel_collector import collecting

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

KSTREAMS = [sys.executable, "-c", "from kstreams_cli import main; main()"]


@pytest.fixture(autouse=True)
def _lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words_module(tmp_path, monkeypatch, "words")
    for topic in ("lines", "totals"):
        say("topics", "create", topic, "-p", "2")
    say("topics", "produce", "lines", given="1\ta b a\n2\tb a\n")


def run(*options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*KSTREAMS, "run", "words", *options]
    env = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def totals() -> list[tuple[str, int]]:
    lines = say("topics", "tail", "totals", "--value-serde", "int64").splitlines()
    return sorted((line.split("\t")[3], int(line.split("\t")[4])) for line in lines)


COUNTED = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]


@pytest.mark.long
def test_run_until_end_processes_all_records_and_again_after_reset() -> None:
    first = run("--until", "end", "--state", "rocksdb")
    assert first.returncode == 0, first.stderr
    assert totals() == COUNTED
    assert "lines: " in first.stderr
    assert "2 records" in first.stderr
    assert "app word-count: stopped after" in first.stderr
    assert " ERROR " not in first.stderr
    assert " WARN " not in first.stderr

    assert "log level" not in first.stderr
    assert "durable log" not in first.stderr
    totals_of = [line for line in first.stderr.splitlines() if "INFO lines: " in line]
    assert len(totals_of) == 1

    say("reset", "word-count", "--yes")
    with collecting() as found:
        options = "--until", "end", "--state", "rocksdb", "--otel", "--log-format", "json"
        second = run(*options, OTEL_EXPORTER_OTLP_ENDPOINT=found.url)
    assert second.returncode == 0, second.stderr
    assert totals() == sorted([*COUNTED, *COUNTED])
    told = [json.loads(line) for line in second.stderr.splitlines() if line.startswith("{")]
    assert {line["app"] for line in told} == {found.service} == {"word-count"}
    batches = {line["trace_id"] for line in told if "batch" in line}
    assert batches == {s.trace_id.hex() for s in found.spans if s.name == "kstreams.batch"} != set()
    assert {"process lines", "commit", "publish"} <= {span.name for span in found.spans}
    assert "messaging.client.consumed.messages" in found.metrics


@pytest.mark.long
def test_run_with_failing_processor_prints_error_of_processor() -> None:
    say("topics", "produce", "lines", given="3\tboom\n")
    failed = run("--until", "end")
    assert failed.returncode == 1
    assert "ProcessingError: RuntimeError in a processor: boom is not countable" in failed.stderr
    assert "node 'count'" in failed.stderr
    assert "words.py" in failed.stderr.replace("\n", "")  # a long path is wrapped anywhere
    assert "\tat org.apache.spark" not in failed.stderr
    assert "app word-count: failed after" in failed.stderr


def test_run_with_invalid_settings_is_usage_error() -> None:
    for options in (
        ["--trigger", "soon"],
        ["--state", "rocksbd"],
        ["--spark-config", "a"],
        ["--spark-config", "spark.ui.enabled=true", "--engine", "embedded"],
        ["--stage", "group-state", "--engine", "embedded"],
        ["--close-windows"],
    ):
        result = kstreams("run", "words", *options)
        assert result.exit_code == 2
        assert f"Invalid value for '{options[0]}'" in result.stderr


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_run_stops_gracefully_on_signal(number: signal.Signals, tmp_path: Path) -> None:
    command = [*KSTREAMS, "run", "words", "--app-id", "mine", "--checkpoint", "here"]
    log = tmp_path / "log"
    with log.open("w") as file:
        process = subprocess.Popen(command, stderr=file, env={**os.environ, "COLUMNS": "100"})
    guard = threading.Timer(500, process.kill)
    guard.start()
    try:
        while "2 records" not in log.read_text() and process.poll() is None:
            time.sleep(0.1)
        busy = kstreams("reset", "mine", "--checkpoint", "here", "--yes")
        process.send_signal(number)
        assert process.wait() == 0, log.read_text()
    finally:
        guard.cancel()
    assert busy.exit_code == 1
    assert busy.stderr.startswith("AppLockedError: ")
    assert f"signal {number.name}: stopping" in log.read_text()
    assert "app mine: stopped after" in log.read_text()
    assert totals() == COUNTED
    say("reset", "mine", "--checkpoint", "here", "--yes")
    assert not Path("here").exists()


@pytest.mark.long
def test_run_refuses_renamed_store_and_shows_option_that_keeps_its_state() -> None:
    assert run("--until", "end").returncode == 0
    module = Path("words.py")
    module.write_text(
        module.read_text().replace('key_value_store("counts"', 'key_value_store("sums"')
    )
    refused = run("--until", "end")
    assert refused.returncode == 1
    command = "kstreams run words --until end --rename counts=sums"
    assert command in " ".join(refused.stderr.split())
    again = run(*shlex.split(command)[3:])
    assert again.returncode == 0, again.stderr
    assert say("state", "get", "word-count", "sums", "a").split() == ["3"]
