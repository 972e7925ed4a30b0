"""The playground: compose.yaml is valid, and the same programs work as processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from devtools.playground.addresses import PROGRAMS, Addresses
from devtools.playground.local import TOKEN, LocalPlayground
from devtools.workspace import ROOT

FILE = ROOT / "compose.yaml"
LINES = 8
PATIENCE_S = 90


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return found


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def test_compose_file_fulfills_the_specification() -> None:
    compose_spec = pytest.importorskip("compose_spec")
    parsed = compose_spec.PyCompose.from_yaml(yaml.safe_dump(compose()))
    parsed.validate()
    assert set(parsed.service_names()) == set(services())


def test_specification_check_finds_misspelled_field() -> None:
    compose_spec = pytest.importorskip("compose_spec")
    wrong = compose()
    wrong["services"]["kafka"]["portz"] = []
    with pytest.raises(ValueError, match="portz"):
        compose_spec.PyCompose.from_yaml(yaml.safe_dump(wrong))


def test_images_have_exact_versions_and_ports_are_local() -> None:
    for name, service in services().items():
        tag = service["image"].partition(":")[2]
        assert tag == "local" or re.match(r"(v|RELEASE\.)?\d+[.-]\d+[.-]\d+|\d+\.\d+-", tag), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name


def test_services_depend_on_existing_services_with_health_checks() -> None:
    for name, service in services().items():
        needed = service.get("depends_on", {})
        for other in needed:
            assert other in services(), name
            condition = needed[other]["condition"] if isinstance(needed, dict) else ""
            if condition == "service_healthy" and other != "app":  # its image has the check
                assert "test" in services()[other]["healthcheck"], other


def test_mounted_files_and_started_programs_exist() -> None:
    for service in services().values():
        for volume in service.get("volumes", ()):
            assert (ROOT / volume.split(":")[0]).exists(), volume
        for word in service.get("command", ()):
            if word.startswith("/opt/playground/"):
                assert (PROGRAMS / Path(word).name).is_file()


def test_server_accepts_the_names_that_its_clients_use() -> None:
    names = {word.removeprefix("--name=") for word in services()["serve"]["command"]}
    assert names >= {"127.0.0.1", "localhost", "serve"}


def test_token_of_prometheus_and_of_both_variants_is_the_same() -> None:
    config = yaml.safe_load((PROGRAMS / "prometheus.yml").read_text())
    (job,) = config["scrape_configs"]
    assert job["authorization"]["credentials"] == TOKEN
    assert services()["serve"]["environment"]["KSTREAMS_SERVE_TOKEN"] == TOKEN
    assert job["static_configs"] == [{"targets": ["serve:8080"]}]


def test_programs_read_only_variables_that_compose_sets() -> None:
    texts = [file.read_text() for file in PROGRAMS.glob("*.py")]
    read = {name for text in texts for name in re.findall(r'environ(?:\.get\(|\[)"(\w+)"', text)}
    assert read - set(services()["app"]["environment"]) == {"ENGINE", "LIMIT"}


@pytest.mark.parametrize("package", ["deploy/playground", "packages/kstreams_serve/grpc"])
def test_make_proto_generates_the_modules_of_each_proto_file(package: str) -> None:
    recipe = re.search(r"^proto:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    for file in (ROOT / package).glob("*.proto"):
        assert file.with_name(f"{file.stem}_pb2.py").is_file()
        assert file.name in recipe[1]


def eventually(is_true: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, log.read_text()[-5_000:]
        time.sleep(0.2)


@contextmanager
def supervised(playground: LocalPlayground) -> Iterator[None]:
    """Restart the app in a thread, as `make run` does."""
    end = threading.Event()

    def watch() -> None:
        while not end.wait(0.2):
            playground.watch()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_playground_of_processes_counts_words_and_counts_them_again_after_a_reset(
    tmp_path: Path,
) -> None:
    with (
        LocalPlayground(engine="embedded", lines=LINES, folder=tmp_path) as playground,
        supervised(playground),
    ):
        url = playground.variables["POSTGRES"]

        def table() -> dict[str, int]:
            with psycopg.connect(url) as database:
                return dict(database.execute("SELECT word, count FROM totals").fetchall())

        def is_counted() -> bool:
            counts = table()
            return (counts.get("stream"), counts.get("a"), counts.get("record")) == (6, 10, 4)

        log = tmp_path / "count_words.log"
        eventually(is_counted, log)
        assert any('"stream"' in each and "count: 6" in each for each in tail("totals", playground))
        committed = 'kstreams_committed_batch{app="word-count"'
        eventually(lambda: committed in metrics(playground), tmp_path / "serve.log")

        with Addresses(tmp_path).stopped_app():
            playground.run("reset.py")
            assert table() == {}
            assert tail("totals", playground) == []
            assert "deleted word-count." in playground.run("delete_groups.py")
        eventually(is_counted, log)
        assert playground.run("delete_groups.py") == ""  # the running app keeps its groups
    assert Addresses(tmp_path).read() == {}


def tail(topic: str, playground: LocalPlayground) -> list[str]:
    """Return the values that `make listen` shows."""
    command = [str(Path(sys.executable).parent / "kstreams"), "topics", "tail", topic]
    done = subprocess.run(
        [*command, "--value-serde", "count_words:TOTALS.value", "--format", "json"],
        env={**os.environ, **playground.variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line)["value"] for line in done.stdout.splitlines()]


def metrics(playground: LocalPlayground) -> str:
    request = urllib.request.Request(
        f"{playground.variables['SERVE']}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""
