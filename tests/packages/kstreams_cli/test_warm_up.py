"""`kstreams warm-up` prints the path of the archive, or the reason why there is none."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from kstreams.spark.startup.class_archive import class_archive
from tests.kstreams.spark.startup.test_java import make_java
from tests.support.cli.command_line import kstreams, say

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake Java is a shell script")


@pytest.fixture(autouse=True)
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java that makes no archives, with an empty cache."""
    home = make_java(tmp_path / "jdk", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("KSTREAMS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    return home


def test_warm_up_prints_path_and_size_of_existing_class_archive(java: Path) -> None:
    archive = class_archive(java)
    assert archive is not None
    archive.path.write_bytes(b"x" * 2000)
    archive.path.chmod(stat.S_IRUSR)
    assert say("warm-up") == f"{archive.path}  2.0 KB\n"


def test_warm_up_reports_reason_if_class_archive_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Xshare:off")
    result = kstreams("warm-up")
    assert result.exit_code == 1
    assert "there is no directory for an archive of Java classes" in result.output
    assert "SPARK_SUBMIT_OPTS" in result.output


def test_warm_up_reports_java_that_cannot_start_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    result = kstreams("warm-up")
    assert result.exit_code == 1
    assert "the app of the warm-up failed" in result.output
