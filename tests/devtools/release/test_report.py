"""The page with the figures of a dry run."""

from __future__ import annotations

from pathlib import Path

from devtools.release.installs import Trial
from devtools.release.report import report


def test_report_has_a_row_for_each_python_and_wheel(tmp_path: Path) -> None:
    (tmp_path / "a-1.whl").write_bytes(b"x" * 1500)
    (tmp_path / "b-1.tar.gz").write_bytes(b"x")
    trials = [
        Trial("3.10", "", 9.0, 123.4),
        Trial("3.10", "s3", 5.0),
        Trial("3.10", "all", 20.4),
        Trial("3.10", "tutorial", 60.0),
        Trial("3.13", "s3", 5.0, problem="no"),
        Trial("3.13", "all", 5.0, problem="no"),
    ]

    lines = report("1.2.3", "abc", tmp_path.iterdir(), trials).splitlines()

    assert "| 3.10 | 123 | 1 | 20 | 60 |" in lines
    assert "| 3.13 | - | 0 | failed | - |" in lines
    assert lines[-2:] == ["| a-1.whl | 1,500 |", "| all | 1,500 |"]
