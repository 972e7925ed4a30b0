"""Machines share programs and the network, and no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.servers.machine import Machine, why_no_machines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_no_machines()), reason=why_no_machines()),
]

ROOT = Path(__file__).parents[2]
LOOK = f"""
import os, kstreams, pyspark
print(kstreams.__file__)
print(sorted(os.listdir({str(ROOT)!r})))
home = os.path.expanduser("~")
print([name for name in os.listdir("/tmp") if not f"{{home}}/".startswith(f"/tmp/{{name}}/")])
print(os.path.exists({str(ROOT / "tests")!r}), os.path.exists({__file__!r}))
open("/tmp/mine", "w").close()
open(os.path.expanduser("~/mine"), "w").close()
try:
    open(os.path.join(os.path.dirname(pyspark.__file__), "mine"), "w")
except OSError as exc:
    print(exc.strerror)
"""


def test_machine_imports_the_installed_library_and_cannot_read_project_files(
    tmp_path: Path, wheel_environment: Path
) -> None:
    machine = Machine("one", tmp_path / "one", "127.0.0.2", wheel_environment)
    log = tmp_path / "log"

    assert machine.run([machine.python, "-c", LOOK], log).wait() == 0, log.read_text()

    library, project, temporary, there, error = log.read_text().splitlines()
    assert library.startswith(machine.here("env/lib/"))
    assert project in ("[]", "['.venv']")
    assert temporary in ("[]", str([*ROOT.parts[2:3]]))  # the environment may be in this folder
    assert there == "False False"
    assert error == "Read-only file system"
    assert machine.path("mine").exists()
    assert not (Path.home() / "mine").exists()
    assert not Path("/tmp/mine").exists()


@pytest.mark.long
def test_file_written_on_machine_is_seen_by_its_next_process_and_not_by_other_machines(
    tmp_path: Path, wheel_environment: Path
) -> None:
    machine = Machine("one", tmp_path / "one", "127.0.0.2", wheel_environment)
    other = Machine("two", tmp_path / "two", "127.0.0.3", wheel_environment)
    log = tmp_path / "log"

    for each, command in ((machine, "touch ~/a /tmp/b"), (machine, "ls ~/a /tmp/b")):
        assert each.run(["sh", "-c", command], log).wait() == 0
    assert other.run(["sh", "-c", "ls ~/a /tmp/b"], log).wait() != 0
