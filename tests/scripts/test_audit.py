"""The check for known vulnerabilities: failures, exceptions, and a missing source of advisories."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
VULNERABLE = {
    "name": "urllib3",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["1.1"], "aliases": ["CVE-2026-7"]}],
}
SOUND = {"name": "idna", "version": "3.20", "vulns": []}
UNKNOWN = {"name": "ours", "skip_reason": "Dependency not found"}


@pytest.fixture
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scripts_audit", ROOT / "scripts" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def speaker(*, out: str = "", err: str = "", status: int = 0) -> tuple[str, ...]:
    """Return a command that prints the given output of pip-audit for any arguments."""
    code = f"import sys; print({out!r}); print({err!r}, file=sys.stderr); sys.exit({status})"
    return (sys.executable, "-c", code)


def report(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


def run(audit: ModuleType, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> int:
    ask = audit.ask
    monkeypatch.setattr(audit, "ask", lambda *files: ask(*files, command=command))
    status: int = audit.main()
    return status


def test_known_vulnerability_fails_audit_with_package_and_fixed_version(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(audit, monkeypatch, speaker(out=report(SOUND, VULNERABLE), status=1)) == 1
    said = capsys.readouterr().err
    assert "urllib3 1.0: PYSEC-2026-1 CVE-2026-7, fixed in 1.1" in said
    assert "requirements/audit-ignored.txt" in said


def test_audit_passes_without_vulnerability_and_names_unknown_packages(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(audit, monkeypatch, speaker(out=report(SOUND, UNKNOWN))) == 0
    said = capsys.readouterr().out
    assert "has no data on ours" in said
    assert "no known vulnerability" in said


@pytest.mark.parametrize("name", ["PYSEC-2026-1", "CVE-2026-7"])
def test_vulnerability_is_accepted_if_reason_is_given_under_any_of_its_aliases(
    audit: ModuleType, name: str
) -> None:
    reasons = audit.ignored(f"# a comment\n\n{name} we never parse such a file\n")
    assert audit.judge(json.loads(report(VULNERABLE)), reasons) == ([], [])


def test_audit_exception_without_reason_raises_error(audit: ModuleType) -> None:
    with pytest.raises(audit.BrokenError, match="no reason for PYSEC-2026-1"):
        audit.ignored("PYSEC-2026-1\n")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        pytest.param(
            speaker(out=report(UNKNOWN)),
            "the configured package index provides no security advisories",
            id="an index without advisories",
        ),
        pytest.param(
            speaker(err="requests.exceptions.ConnectionError: no route", status=1),
            "the package index cannot be reached (requests.exceptions.ConnectionError)",
            id="no network",
        ),
        pytest.param(
            speaker(err="pip_audit._service.interface.ServiceError", status=1),
            "the package index cannot be reached (pip_audit._service.interface.ServiceError)",
            id="an index in trouble",
        ),
    ],
)
def test_audit_without_reachable_advisories_prints_one_line_and_passes(
    audit: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
    reason: str,
) -> None:
    assert run(audit, monkeypatch, command) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == (f"audit: skipped: {reason}\n", "")


def test_audit_fails_if_its_command_fails(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(audit, monkeypatch, speaker(err="ERROR: no such option", status=2)) == 2
    assert "no such option" in capsys.readouterr().err


def test_lock_files_have_format_that_audit_reads(audit: ModuleType) -> None:
    for lock in audit.LOCKS:
        entry = audit.first_entry(lock.read_text())
        assert "==" in entry
        assert "--hash=sha256:" in entry
    audit.ignored(audit.IGNORED.read_text())
