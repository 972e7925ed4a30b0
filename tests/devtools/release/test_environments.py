"""Clean environments have an empty home, and no variables or packages of this one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from devtools.release.environments import clean_environment

LOOK = """
import os, pathlib, sys, importlib.util as u
print(u.find_spec("kstreams"), list(pathlib.Path.home().iterdir()), os.listdir(), sys.prefix)
print({name for name in os.environ if name.startswith(("PYTHON", "KSTREAMS", "PIP"))})
"""


@pytest.mark.slow
def test_clean_environment_has_no_package_file_or_variable_of_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("KSTREAMS_TEST_ENGINE", "embedded")
    for name in ("PIP_FIND_LINKS", "PIP_CERT", "PIP_DEFAULT_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")

    with clean_environment("test", Path(sys.executable), "") as environment:
        said = environment.run(LOOK, "look").splitlines()
        folder = environment.folder

    assert said[0] == f"None [] [] {folder / 'venv'}"
    assert said[1] == "{'PIP_DISABLE_PIP_VERSION_CHECK'}"
    assert not folder.exists()
