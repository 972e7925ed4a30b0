"""Detection of script modules, and of the user's frames in a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kstreams import user_code
from kstreams.columns.row_failure import RowFailure, called
from kstreams.errors import ProcessingError
from kstreams.quoting import text_of
from kstreams.user_code import is_script, library_packages, runpy_scripts, user_traceback_of


def _parse(text: object) -> object:
    return json.loads(str(text))


def _wrapped(text: object) -> object:
    try:
        return int(str(text))
    except ValueError as exc:
        raise LookupError("unknown") from exc


def _by_way_of_the_library(text: object) -> object:
    names: dict[str, Any] = {}
    file = Path(user_code.__file__).with_name("made_up.py")
    exec(compile("def call(f):\n  return f()", str(file), "exec"), names)  # noqa: S102
    return names["call"](_inner)


def _inner() -> None:
    raise ValueError


def _shown(function: Callable[[object], object]) -> list[str]:
    with pytest.raises(RowFailure) as raised:
        called(function, ["x"])
    return user_traceback_of(raised.value.reason).splitlines()


def _functions(lines: list[str]) -> list[str]:
    return [line.rpartition(" in ")[2] for line in lines if line.startswith("  File ")]


def test_user_traceback_has_users_frames_and_innermost_of_other_package() -> None:
    lines = _shown(_parse)
    assert lines[0] == "Traceback (most recent call last):"
    assert _functions(lines) == ["_parse", "raw_decode"]
    assert "JSONDecodeError" in lines[-1]


def test_user_traceback_has_complete_entries_with_source_lines() -> None:
    lines = _shown(_parse)
    files = [number for number, line in enumerate(lines) if line.startswith("  File ")]
    assert files[0] == 1
    assert all(lines[number + 1].startswith("    ") for number in files)
    assert not [n for n in range(1, len(lines)) if "^^" in lines[n] and n - 1 in files]


def test_user_traceback_shortens_exception_and_its_cause() -> None:
    lines = _shown(_wrapped)
    assert _functions(lines) == ["_wrapped", "_wrapped"]
    assert "  The above exception was the direct cause of the following exception:" in lines


def test_user_traceback_leaves_out_library_frames_between_users_frames() -> None:
    assert _functions(_shown(_by_way_of_the_library)) == ["_by_way_of_the_library", "_inner"]


def test_user_traceback_of_library_frames_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_code, "_owner", lambda _: "library")
    assert _functions(_shown(_parse))[0] == "called"
    assert _functions(_shown(_parse))[-1] == "raw_decode"


def test_user_traceback_of_long_text_begins_with_complete_entry() -> None:
    def deep(number: object) -> object:
        raise RuntimeError("x" * 29_000) if number == "x" else KeyError(number)

    text = "\n".join(_shown(deep))
    assert len(text) <= 30_000
    assert text.startswith(("Traceback", "…\n  File ", "…"))


def test_user_traceback_of_exception_without_text_is_not_empty() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise ValueError

    error = ProcessingError.of(Broken())
    assert error.cause_traceback
    assert text_of(error)


def test_library_packages_are_core_and_plugins() -> None:
    assert {"kstreams", "kstreams_json", "kstreams_msgspec"} <= library_packages()
    assert "kstreams_orders" not in library_packages()


def test_is_script_is_true_for_main_and_false_for_importable_modules() -> None:
    assert is_script(sys.modules["__main__"])
    assert not is_script(json)
    assert not is_script(sys)


def test_is_script_is_true_for_module_run_by_runpy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("<run_path>", "made_by_runpy"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        sys.modules[name].__file__ = str(tmp_path / "main.py")
        assert is_script(sys.modules[name])
        assert sys.modules[name] in runpy_scripts()
    (tmp_path / "made_by_hand.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not is_script(ModuleType("made_by_hand"))


def test_runpy_scripts_of_plain_process_are_empty() -> None:
    program = "from kstreams.user_code import runpy_scripts; print(list(runpy_scripts()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"[]\n"
