"""What `import kstreams` gives, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kstreams


def test_every_public_name_is_there_once() -> None:
    assert len(set(kstreams.__all__)) == len(kstreams.__all__)
    assert [name for name in kstreams.__all__ if not hasattr(kstreams, name)] == []


def test_no_public_name_hides_a_builtin() -> None:
    import builtins

    assert [name for name in kstreams.__all__ if hasattr(builtins, name)] == []


@pytest.mark.parametrize("absent", ["pyspark", "py4j", "pandas", "msgspec", "rocksdict", "boto3"])
def test_importing_the_package_does_not_import(absent: str) -> None:
    code = f"import sys, kstreams; print({absent!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
