"""Looks up the locked packages in the advisories of the package index: `make check-audit`.

Fails on a known vulnerability, unless `requirements/audit-ignored.txt` names it with the reason why
it does no harm here. If the advisories are not available (no network, a mirror without them), the
script prints one line and passes: a check that needs the network must not break the build.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

ROOT = Path(__file__).resolve().parent.parent
LOCKS = (ROOT / "requirements" / "lock.txt", ROOT / "requirements" / "java.txt")
IGNORED = ROOT / "requirements" / "audit-ignored.txt"

COMMAND = (sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes")
OPTIONS = ("--format", "json", "--aliases", "on", "--desc", "off", "--progress-spinner", "off")
TIMEOUT = ("--timeout", "10")  # seconds per connection
NOT_REACHED = re.compile(
    r"(?:requests\.exceptions|pip_audit\._service\.interface)\."
    r"\w*(?:Connection|Connect|Proxy|SSL|Timeout|JSONDecode|Service)\w*"
)


class UnavailableError(Exception):
    """The advisories are not available."""


class BrokenError(Exception):
    """The check itself fails; the message contains the reason."""


def main() -> int:
    try:
        reasons = ignored(IGNORED.read_text())
        with tempfile.TemporaryDirectory() as scratch:
            probe = Path(scratch) / "probe.txt"
            probe.write_text(first_entry(LOCKS[0].read_text()))
            ask(probe)  # one failed request instead of a hundred
        findings, unknown = judge(ask(*LOCKS), reasons)
    except UnavailableError as exc:
        print(f"audit: skipped: {exc}")
        return 0
    except BrokenError as exc:
        print(f"audit: error: {exc}", file=sys.stderr)
        return 2
    if unknown:
        print(f"audit: the package index has no data on {', '.join(unknown)}")
    if findings:
        print("\n".join(findings), file=sys.stderr)
        print(
            f"audit: {len(findings)} known vulnerabilities\n"
            "audit: hint: upgrade to a fixed version (make lock UPGRADE=1), or add the id, and the "
            f"reason why it is harmless, to {IGNORED.relative_to(ROOT)}",
            file=sys.stderr,
        )
        return 1
    print("audit: no known vulnerability")
    return 0


def ignored(text: str) -> dict[str, str]:
    """Return the reasons in `audit-ignored.txt` by id; its lines are `ID reason` or comments."""
    reasons = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.partition(" ")
        if not reason.strip():
            raise BrokenError(f"{IGNORED.name} gives no reason for {name}")
        reasons[name] = reason.strip()
    return reasons


def first_entry(lock: str) -> str:
    """Return the first package of a lock, with its hashes."""
    found = re.search(r"^\S+==(?:.*\\\n)*.*\n?", lock, re.MULTILINE)
    if found is None:
        raise BrokenError("the lock file lists no package")
    return found.group(0)


def ask(*requirements: Path, command: Sequence[str] = COMMAND) -> dict[str, Any]:
    """Return the report of pip-audit about the packages of lock files."""
    files = [part for path in requirements for part in ("--requirement", str(path))]
    done = subprocess.run(  # noqa: S603  # a command of this file
        [*command, *OPTIONS, *TIMEOUT, *files], check=False, capture_output=True, text=True
    )
    try:
        report: dict[str, Any] = json.loads(done.stdout)
        packages = report["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1][:300]
        if found := NOT_REACHED.findall(done.stderr):
            raise UnavailableError(f"the package index cannot be reached ({found[-1]})") from None
        raise BrokenError(f"pip-audit ended with status {done.returncode}: {last}") from None
    if packages and all("skip_reason" in package for package in packages):
        raise UnavailableError("the configured package index provides no security advisories")
    return report


def judge(report: dict[str, Any], reasons: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return a line per finding without a reason, and the packages that the index does not know."""
    findings = []
    unknown = []
    for package in report["dependencies"]:
        if "skip_reason" in package:
            unknown.append(package["name"])
            continue
        for vulnerability in package["vulns"]:
            names = (vulnerability["id"], *vulnerability.get("aliases", ()))
            if not any(name in reasons for name in names):
                fixed = ", ".join(vulnerability["fix_versions"]) or "no version yet"
                locked = f"{package['name']} {package['version']}"
                findings.append(f"{locked}: {' '.join(names)}, fixed in {fixed}")
    return findings, unknown


if __name__ == "__main__":
    sys.exit(main())
