"""What `import kstreams` gives, and what it does not bring along."""

from __future__ import annotations

import subprocess
import sys

import kstreams


def test_every_public_name_exists_and_is_sorted_once() -> None:
    names = kstreams.__all__
    assert len(set(names)) == len(names)
    assert all(getattr(kstreams, name) is not None for name in names)


def test_importing_the_package_brings_neither_spark_nor_optional_dependencies() -> None:
    heavy = ["pyspark", "confluent_kafka", "rocksdict", "msgspec", "typer", "boto3"]
    code = f"import sys, kstreams; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(kstreams, "NoSuchThing")
