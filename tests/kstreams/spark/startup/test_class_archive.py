"""The class archive of Spark's JVM: made in the background, atomic, private and bounded."""

from __future__ import annotations

import fcntl
import os
import shlex
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from kstreams.spark.startup import class_archive as module
from kstreams.spark.startup.class_archive import ClassArchive, class_archive
from kstreams.spark.startup.jvm import on_quick_jvm
from kstreams.spark.startup.session_settings import MEMORY, OPTIONS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake Java is a shell script")

NOTES = b"java/lang/Object id: 0\n" + module._OF_A_BATCH + b" id: 1\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home of a fake Java that writes its arguments to a file, with an empty cache."""
    monkeypatch.setenv("KSTREAMS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    (home / "lib" / "modules").write_text("modules")
    fake_java(home, 'for each in "$@"; do case "$each" in -XX:SharedArchiveFile=*) '
              'echo "$@" > "${each#*=}";; esac; done')  # fmt: skip
    return home


def fake_java(home: Path, script: str) -> None:
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)


def archive_of(home: Path) -> ClassArchive:
    found = class_archive(home)
    assert found is not None
    return found


def notes_for(archive: ClassArchive, text: bytes = NOTES) -> Path:
    _, classes = archive.record()
    classes.write_bytes(text)
    return classes


def test_archive_is_made_from_class_list_noted_at_an_earlier_start(home: Path) -> None:
    archive = archive_of(home)
    assert not archive.is_there()
    classes = notes_for(archive)
    assert archive.make(classes, "a.jar:b.jar")
    assert archive.is_there()
    arguments = archive.path.read_text()
    assert f"-XX:SharedClassListFile={classes}" in arguments
    assert "-cp a.jar:b.jar" in arguments
    assert f"-XX:SharedArchiveFile={archive.path}" in archive.use()
    assert not classes.exists()
    assert {each.name for each in archive.folder.iterdir()} == {archive.path.name, "lock"}
    assert archive.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exit 1", id="refuses"),
        pytest.param("exit 0", id="writes-nothing"),
        pytest.param('for each in "$@"; do case "$each" in -XX:SharedArchiveFile=*) '
                     'echo half > "${each#*=}"; exit 1;; esac; done', id="dies-half-way"),
    ],
)  # fmt: skip
def test_failed_archive_leaves_no_file(home: Path, script: str) -> None:
    fake_java(home, script)
    archive = archive_of(home)
    assert not archive.make(notes_for(archive), "a.jar")
    assert [each.name for each in archive.folder.iterdir()] == ["lock"]


@pytest.mark.parametrize("text", [b"", b"java/lang/Object id: 0\n"], ids=["empty", "no-task"])
def test_failed_start_makes_no_archive(home: Path, text: bytes) -> None:
    archive = archive_of(home)
    assert not archive.make(notes_for(archive, text), "a.jar")
    assert not archive.make(archive.folder / "no-such.classes", "a.jar")


def test_archive_is_not_made_while_another_process_makes_it(home: Path) -> None:
    archive = archive_of(home)
    with (archive.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        classes = notes_for(archive)
        assert not archive.make(classes, "a.jar")
    assert not classes.exists()
    assert archive.make(notes_for(archive), "a.jar")


def test_each_java_runtime_has_its_own_archive_and_newest_three_are_kept(home: Path) -> None:
    made = []
    for turn in range(5):
        (home / "lib" / "modules").write_text("x" * turn)
        archive = archive_of(home)
        assert archive.make(notes_for(archive), "a.jar")
        os.utime(archive.path, (turn, turn))
        made.append(archive.path)
    assert len(set(made)) == 5
    assert [path.exists() for path in made] == [False, False, True, True, True]


def test_class_lists_of_killed_processes_are_removed_after_a_day(home: Path) -> None:
    archive = archive_of(home)
    old, new = notes_for(archive), notes_for(archive)
    os.utime(old, (0, 0))
    assert archive.make(notes_for(archive), "a.jar")
    assert (old.exists(), new.exists()) == (False, True)


def test_file_that_other_users_may_have_written_is_not_used(home: Path, tmp_path: Path) -> None:
    archive = archive_of(home)
    assert archive.make(notes_for(archive), "a.jar")
    archive.path.chmod(0o666)
    assert not archive.is_there()
    archive.path.unlink()
    (tmp_path / "foreign").write_text("classes")
    archive.path.symlink_to(tmp_path / "foreign")
    assert not archive.is_there()


def test_folder_of_another_user_is_not_used(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "classes").symlink_to(tmp_path / "elsewhere")
    assert class_archive(home) is None


@pytest.mark.parametrize("name", ["with space", "with'quote"])
def test_folder_with_name_invalid_in_options_is_not_used(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("KSTREAMS_CACHE", str(tmp_path / name))
    assert class_archive(home) is None


def test_jvm_options_of_user_are_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-XX:SharedArchiveFile=/srv/own.jsa")
    assert class_archive(home) is None
    made: list[dict[str, str]] = []

    def make(settings: dict[str, str]) -> SparkSession:
        made.append(dict(settings))
        return SparkSession.__new__(SparkSession)

    on_quick_jvm({"spark.driver.memory": MEMORY}, home, make)  # type: ignore[arg-type]
    on_quick_jvm({"spark.driver.memory": "8g"}, home, make)  # type: ignore[arg-type]
    on_quick_jvm({OPTIONS: "-Dmine=1"}, home, make)  # type: ignore[arg-type]
    assert [each[OPTIONS] for each in made] == [
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmn56m",
        "-XX:TieredStopAtLevel=1",
        "-Dmine=1",
    ]


def test_jvm_that_fails_with_archive_is_started_without_it(home: Path) -> None:
    archive = archive_of(home)
    assert archive.make(notes_for(archive), "a.jar")
    tried: list[str] = []

    def make(settings: dict[str, str]) -> SparkSession:
        tried.append(settings[OPTIONS])
        if "SharedArchiveFile" in settings[OPTIONS]:
            raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
        return SparkSession.__new__(SparkSession)

    on_quick_jvm({}, home, make)  # type: ignore[arg-type]
    assert ["SharedArchiveFile" in each for each in tried] == [True, False]
    assert not archive.path.exists()


def test_start_error_unrelated_to_archive_is_raised_and_archive_kept(home: Path) -> None:
    archive = archive_of(home)
    assert archive.make(notes_for(archive), "a.jar")

    def make(settings: dict[str, str]) -> SparkSession:
        raise PySparkRuntimeError(errorClass="MASTER_URL_NOT_SET", messageParameters={})

    with pytest.raises(PySparkRuntimeError, match="MASTER_URL_NOT_SET"):
        on_quick_jvm({}, home, make)  # type: ignore[arg-type]
    assert archive.is_there()
    assert shlex.split(archive.use())[0].endswith(archive.path.name)
    assert MEMORY == "1g"
