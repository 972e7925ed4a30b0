"""The settings of an app: defined once, checked once, with one name each."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from dataclasses import MISSING, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from kstreams import TEXT, App, key_value_store
from kstreams.app import ForkSource, Migration
from kstreams.checkpoint.start.app_settings import AppSettings, store_names
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import CompileError

OTHERS = {"self", "topology", "connection", "engine", "stage", "spark", "clock", "on_batch"}
"""Arguments of `App` that are objects, or choose the engine."""


def settings(**given: Any) -> AppSettings:
    return AppSettings("app", home_of(Path("/checkpoint")), **given)


def test_each_setting_has_name_of_app_argument() -> None:
    arguments = inspect.signature(App.__init__).parameters
    assert {each.name for each in fields(AppSettings)} == set(arguments) - OTHERS


def test_app_and_app_settings_have_same_defaults() -> None:
    arguments = inspect.signature(App.__init__).parameters
    plain = {each.name: each.default for each in fields(AppSettings) if each.default is not MISSING}
    plain["reset"] = ()
    assert plain == {name: arguments[name].default for name in plain}


@pytest.mark.parametrize(
    "given",
    [
        {"max_records_per_batch": 0},
        {"max_bytes_per_batch": 0},
        {"trigger": timedelta(milliseconds=-1)},
        {"retained_batches": 1},
    ],
    ids=lambda given: next(iter(given)),
)
def test_value_out_of_range_is_rejected_with_its_name(given: dict[str, Any]) -> None:
    with pytest.raises(CompileError, match=next(iter(given))):
        settings(**given)


def test_reset_given_as_text_instead_of_set_is_rejected() -> None:
    with pytest.raises(CompileError, match=r"reset=\{'counts'\}"):
        store_names("counts")
    assert store_names(["counts"]) == {"counts"}


def test_workers_receive_no_driver_settings() -> None:
    """Neither secrets of a session nor functions that need not pickle."""
    store = key_value_store("counts", key=TEXT, value=TEXT)
    given = settings(
        packages=["mine"],
        config={"spark.hadoop.fs.s3a.secret.key": "hidden"},
        migrate={"counts": Migration(store, lambda _, value: (given, sys.stdin, value)[2])},
        reset=frozenset({"gone"}),
        fork=ForkSource("/other", "savepoint"),
        max_bytes_per_batch=7,
    )
    sent = given.for_workers()
    assert b"hidden" not in cloudpickle.dumps(sent)  # type: ignore[no-untyped-call]  # pyspark is untyped
    assert pickle.loads(pickle.dumps(sent)) == sent
    assert sent == settings(packages=(), max_bytes_per_batch=7, state=given.state)


def test_repr_of_settings_leaves_out_spark_configuration() -> None:
    assert "hidden" not in repr(settings(config={"spark.ssl.keyPassword": "hidden"}))


def test_app_settings_need_no_spark() -> None:
    program = (
        "import sys, kstreams.checkpoint.start.app_settings; sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
