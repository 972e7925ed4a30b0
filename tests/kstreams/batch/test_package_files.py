"""Files of a user's package that are sent to executors, and files that never are."""

from __future__ import annotations

import importlib
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kstreams.batch.package_files import PackageContents, contents_of

NEVER = [
    ".env",
    ".env.production",
    ".git/config",
    ".aws/credentials",
    "deep/.netrc",
    "prod.env",
    "server.pem",
    "server.KEY",
    "deep/store.p12",
    "store.jks",
    "user.keystore",
    "id_rsa",
    "id_ed25519.pub",
    "credentials",
    "credentials.json",
    "secrets.yaml",
    "service-account-1.json",
    "kafka.keytab",
    "node_modules/x/index.js",
    "__pycache__/x.pyc",
    "venv/pyvenv.cfg",
    "venv/lib/x.py",
]
GOES = [
    "__init__.py",
    "credentials.py",
    "secrets.py",
    "deep/data.txt",
    "deep/keys.csv",
    "lookup.sqlite",
    "environment.toml",
]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    root = tmp_path / "project" / "user_shop"
    for name in (*NEVER, *GOES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    monkeypatch.syspath_prepend(str(root.parent))
    importlib.invalidate_caches()
    yield root
    for name in [name for name in sys.modules if name.startswith("user_")]:
        del sys.modules[name]


def names(contents: PackageContents) -> set[str]:
    return {file.name.removeprefix("user_shop/") for file in contents.files}


@pytest.mark.parametrize("by_name", [True, False])
def test_package_upload_leaves_out_key_files_hidden_files_and_caches(
    package: Path, by_name: bool
) -> None:
    module = importlib.import_module("user_shop")
    (found,) = contents_of(["user_shop" if by_name else module])
    assert names(found) == set(GOES)
    assert {left.name for left in found.left_out} == {
        f"user_shop/{name}"
        for name in (
            *(name for name in NEVER if name.count("/") == 0),
            *(".git/", ".aws/", "deep/.netrc", "deep/store.p12"),
            *("node_modules/", "venv/"),
        )
    }
    why = {left.name: left.why for left in found.left_out}
    assert why["user_shop/.git/"] == "hidden"
    assert why["user_shop/server.pem"] == "keys or passwords, according to its name"
    assert why["user_shop/venv/"] == "a virtual environment"


def test_package_upload_includes_explicitly_requested_files(package: Path) -> None:
    (found,) = contents_of(["user_shop", "user_shop:server.pem", "user_shop:.git/*"])
    assert names(found) == {*GOES, "server.pem", ".git/config"}
    assert not {"user_shop/server.pem", "user_shop/.git/"} & {x.name for x in found.left_out}


def test_package_upload_leaves_out_links_to_outside(package: Path, tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (secret / "shadow").write_text("x")
    (package / "file.txt").symlink_to(secret / "shadow")
    (package / "folder").symlink_to(secret)
    (package / "up").symlink_to(package.parent)
    (package / "gone").symlink_to(tmp_path / "nowhere")
    (package / "inside.txt").symlink_to(package / "deep" / "data.txt")
    (package / "again").symlink_to(package)
    (found,) = contents_of(["user_shop"])
    assert names(found) == {*GOES, "inside.txt"}
    left = {each.name for each in found.left_out if "link" in each.why}
    assert left == {f"user_shop/{name}" for name in ("file.txt", "folder/", "up/", "gone")}


def test_module_in_project_root_is_uploaded_as_one_file(package: Path) -> None:
    root = package.parent
    for name in ("user_single.py", ".env", "other.py"):
        (root / name).write_text("")
    (found,) = contents_of(["user_single"])
    assert [file.path for file in found.files] == [root / "user_single.py"]
    assert [file.name for file in found.files] == ["user_single.py"]


def test_collecting_package_files_needs_no_pyspark() -> None:
    program = "import sys, kstreams.batch.package_files; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_own_folders_returns_script_folder_then_added_entries_of_sys_path(tmp_path: Path) -> None:
    for name in ("project", "second", "third.zip"):
        (tmp_path / name).mkdir()
    script = tmp_path / "project" / "main.py"
    script.write_text(
        "import sys\nsys.path += ['second', 'none', 'second', 'third.zip']\n"
        "from kstreams.batch.package_files import own_folders\nprint(*own_folders(), sep='\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "project/main.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    own = [line for line in done.stdout.splitlines() if line.startswith(str(tmp_path))]
    assert own == [str(tmp_path / name) for name in ("project", "second", "third.zip")]


def test_own_packages_leave_out_script_run_by_runpy(tmp_path: Path) -> None:
    (tmp_path / "user_near.py").write_text("")
    script = tmp_path / "main.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport user_near\n"
        "from kstreams.batch.package_files import own_packages\nfound = own_packages()\n"
    )
    found = runpy.run_path(str(script))["found"]
    assert "user_near" in found
    assert "<run_path>" not in found
