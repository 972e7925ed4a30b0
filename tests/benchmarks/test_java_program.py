"""A peer's Java program is compiled once for each version of its sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.suite import java_program
from benchmarks.suite.java_program import JavaProgram, sources_in
from benchmarks.suite.peer import Unavailable
from devtools.servers.ivy import JarResolutionError


def program(folder: Path) -> JavaProgram:
    return JavaProgram("hello-1", "Hello", sources_in(folder), (), ("-Xss1m",))


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a Java source file; fakes replace the compiler and the download of libraries."""
    file = tmp_path / "sources" / "Hello.java"
    file.parent.mkdir()
    file.write_text("class Hello {}")
    compiler = tmp_path / "bin" / "javac"
    compiler.parent.mkdir()
    compiler.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(compiler.parent))
    monkeypatch.setattr(java_program, "java_home", lambda: Path("/java"))
    monkeypatch.setattr(java_program, "resolve", lambda *_, **__: (Path("/jars/one.jar"),))
    return file


def test_program_is_compiled_again_only_after_a_change(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(java_program, "step", lambda command, folder: commands.append(command))
    for _ in range(2):
        program(source.parent).install(tmp_path)
    assert len(commands) == 1
    assert commands[0][-1] == str(source)
    before = program(source.parent).command(tmp_path)
    source.write_text("class Hello { int changed; }")
    program(source.parent).install(tmp_path)
    assert len(commands) == 2
    assert program(source.parent).command(tmp_path) != before
    assert before[1:3] == ("-Xmx1g", "-Xss1m")
    assert before[-2].endswith(":/jars/one.jar")


def test_failed_compilation_leaves_no_classes(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(command: list[str], folder: Path) -> None:
        raise Unavailable("javac ended with 1")

    monkeypatch.setattr(java_program, "step", fails)
    for _ in range(2):  # the second time does not take the first one for compiled
        with pytest.raises(Unavailable, match="javac"):
            program(source.parent).install(tmp_path)


def test_missing_compiler_or_library_makes_the_program_unavailable(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> tuple[Path, ...]:
        raise JarResolutionError("no repository has it")

    monkeypatch.setattr(java_program, "resolve", missing)
    with pytest.raises(Unavailable, match="no repository has it"):
        program(source.parent).install(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="`javac` is not on PATH"):
        program(source.parent).install(tmp_path)
