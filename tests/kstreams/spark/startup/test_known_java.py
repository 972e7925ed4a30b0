"""The cached version of a Java runtime: kept until the runtime changes, protected from others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kstreams.spark.startup.java import java_home
from kstreams.spark.startup.known_java import known_java, remember_java
from tests.kstreams.spark.startup.test_java import make_java

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake Javas are shell scripts")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KSTREAMS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def asked(home: Path) -> bool:
    """Return whether the Java was started since the last call."""
    arguments = home / "arguments"
    was_there = arguments.exists()
    arguments.unlink(missing_ok=True)
    return was_there


def test_java_is_started_once_and_then_cached(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    given = {"JAVA_HOME": str(home), "PATH": ""}
    assert [(java_home(given), asked(home)) for _ in range(3)] == [
        (home, True),
        (home, False),
        (home, False),
    ]


@pytest.mark.parametrize("part", ["bin/java", "release", "lib/modules"])
def test_changed_java_is_started_again(tmp_path: Path, part: str) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    given = {"JAVA_HOME": str(home), "PATH": ""}
    java_home(given)
    asked(home)
    with (home / part).open("a") as file:
        file.write("\n")
    assert java_home(given) == home
    assert asked(home)


def test_unsuitable_java_is_started_each_time(tmp_path: Path) -> None:
    old, fit = make_java(tmp_path / "old", "11.0.2"), make_java(tmp_path / "fit", "21.0.2")
    given = {"JAVA_HOME": str(old), "PATH": str(fit / "bin")}
    for _ in range(2):
        assert java_home(given) == fit
        assert asked(old)


def test_version_of_java_shim_without_release_file_is_not_cached(tmp_path: Path) -> None:
    shim = make_java(tmp_path / "shims", "17.0.1")
    (shim / "release").unlink()
    remember_java(shim / "bin" / "java", 17, tmp_path)
    assert known_java(shim / "bin" / "java") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"state": null}', "\0"])
def test_damaged_cache_is_ignored(tmp_path: Path, cache: Path, text: str) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    remember_java(home / "bin" / "java", 17, home)
    assert known_java(home / "bin" / "java") == (17, home)
    (cache / "known-java" / "last.json").write_text(text)
    assert known_java(home / "bin" / "java") is None


def test_cache_writable_by_others_is_ignored(tmp_path: Path, cache: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    remember_java(home / "bin" / "java", 17, home)
    (cache / "known-java").chmod(0o777)
    assert known_java(home / "bin" / "java") is None
