"""Spark settings of a session created by an app."""

from __future__ import annotations

from pathlib import Path
from urllib.request import url2pathname

import pytest

from kstreams.spark.startup.session_settings import OPTIONS, jvm_options, session_settings

_LOG4J = "-Dlog4j2.configurationFile=file://"


@pytest.fixture(autouse=True)
def _no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)


def test_session_settings_turn_off_log_of_spark() -> None:
    settings = session_settings({"a": "b"})
    assert (settings["a"], settings["spark.log.level"]) == ("b", "FATAL")
    _, _, place = jvm_options(settings).partition(_LOG4J)
    assert Path(url2pathname(place)).is_file()
    options = session_settings({OPTIONS: "-Dx=y"})[OPTIONS]
    assert options.startswith(f"-Dx=y {_LOG4J}")


@pytest.mark.parametrize("own", [{"spark.log.level": "INFO"}, {OPTIONS: "-Dlog4j2.x=y"}])
def test_session_settings_keep_log4j_configuration_of_user(own: dict[str, str]) -> None:
    settings = session_settings(own)
    assert own.items() <= settings.items()
    assert "log4j2.configurationFile" not in jvm_options(settings)


def test_session_settings_keep_log4j_configuration_of_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dlog4j2.configurationFile=own.properties")
    settings = session_settings({})
    assert "spark.log.level" not in settings
    assert "log4j2" not in jvm_options(settings)
