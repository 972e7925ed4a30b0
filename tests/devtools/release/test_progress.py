"""Lines about steps, and errors of programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from devtools.release.progress import ReleaseError, run, step


def test_run_returns_output_of_both_streams() -> None:
    script = "import sys; print('out', flush=True); print('err', file=sys.stderr)"

    assert run([sys.executable, "-c", script], "talk") == "out\nerr\n"


def test_run_of_failing_program_raises_with_its_last_lines() -> None:
    script = "import sys; [print('line', n) for n in range(99)]; sys.exit(3)"

    with pytest.raises(ReleaseError) as caught:
        run([sys.executable, "-c", script], "talk", hint="listen")

    text = str(caught.value)
    assert text.startswith(f"talk: {sys.executable} ended with 3:\n")
    assert "line 98\nHint: listen" in text
    assert "line 1\n" not in text


def test_run_of_missing_program_raises(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be started"):
        run([tmp_path / "missing"], "talk")


def test_run_of_endless_program_raises() -> None:
    with pytest.raises(ReleaseError, match=r"talk: no end after 0\.2 s"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], "talk", timeout=0.2)


def test_step_prints_duration_only_of_success(capsys: pytest.CaptureFixture[str]) -> None:
    with step("first"):
        pass
    with pytest.raises(ReleaseError), step("second"):
        raise ReleaseError("no")

    lines = capsys.readouterr().out.splitlines()
    assert [lines[0], lines[2]] == ["release: first", "release: second"]
    assert lines[1].startswith("release:   done in ")
    assert len(lines) == 3
