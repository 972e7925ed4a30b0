"""The counter of habits of unclear English."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from devtools.prose import Text, findings, main, texts


def habits(words: str) -> list[str]:
    return [each.habit for each in findings(Text(Path("x.py"), 1, "docstring", words))]


@pytest.mark.parametrize(
    ("words", "habit"),
    [
        ("Return what waits.", "clause for a noun"),
        ("What a stage does.", "clause for a noun"),
        ("Where a batch is.", "clause for a noun"),
        ("Whoever reads it, nobody writes.", "clause for a noun"),
        ("The parts of what is read.", "clause for a noun"),
        ("A node.\n\nArgs:\n    name: Its name.", "pronoun for a noun"),
        ("A view.\n\nArgs:\n    group: Of which the store is.", "pronoun for a noun"),
        ("Read those that it has.", "pronoun for a noun"),
        ("Begin anew.", "archaic or inverted"),
        ("The state of before.", "archaic or inverted"),
        ("A number of Spark's.", "double genitive"),
        ("Tell the driver.", "house metaphor"),
        ("A job stands for many batches.", "house metaphor"),
    ],
)
def test_prose_check_finds_habit_in_text(words: str, habit: str) -> None:
    assert habit in habits(words)


@pytest.mark.parametrize(
    "words",
    [
        "Return the pending plan.",
        "What happens if a worker dies?",
        "Flush buffered rows. Returns 0: no row is dropped as too old.",
        "Serialize the value and prepend the frame.",
        "timeout: Maximum time to wait, in seconds.",
        "The owner of the task's state.",
        "See `what waits` and ``nobody``.",
    ],
)
def test_prose_check_finds_nothing_in_plain_text(words: str) -> None:
    source = Path("x.md")
    assert habits(words.replace("`what waits`", "").replace("``nobody``", "")) == [], source


def test_texts_of_module_have_kind_and_line(tmp_path: Path) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(
        '"""Module."""\n\n'
        "# a comment\n# of two lines\n"
        "def test_it_is_red():\n"
        '    """Function `what waits`."""\n'
        '    raise ValueError(f"wrong {1}", hint="mend it")\n'
    )
    found = {(text.kind, text.line, text.words) for text in texts(path)}
    assert found == {
        ("docstring", 1, "Module."),
        ("comment", 3, "a comment of two lines"),
        ("docstring", 6, "Function ."),
        ("error", 7, "wrong "),
        ("error", 7, "mend it"),
        ("test name", 5, "it is red"),
    }


def test_texts_of_page_leave_out_code(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("# Title\n\n```python\nwhat is\n```\n\nReturn what waits.\n")
    found = [each for text in texts(path) for each in findings(text)]
    assert [each.text.line for each in found] == [7]


@pytest.mark.parametrize("package", ["anyio", "attr"])
def test_prose_check_of_installed_package_with_plain_text_passes(package: str) -> None:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    assert main([spec.submodule_search_locations[0]]) == 0


def test_prose_check_of_text_over_limit_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.py"
    path.write_text('"""Return what waits."""\n')
    assert main([str(path), "--show"]) == 1
    assert f"{path}:1: docstring: clause for a noun: 'Return what'" in capsys.readouterr().out


def test_prose_check_with_since_counts_only_new_lines(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()
    # A committed file has no new lines, whatever its words.
    assert main(["--since", head, str(root / "devtools" / "__init__.py")]) == 0
    assert tmp_path.exists()


def test_prose_check_with_kind_counts_only_texts_of_that_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "module.py"
    file.write_text('"""What a stage does."""\n\nraise ValueError("the batch is empty")\n')
    assert main([str(file), "--kind", "error"]) == 0
    assert "docstring" not in capsys.readouterr().out
    assert main([str(file)]) == 1
