"""Spark's Kafka connector is fetched in an available version, or the failure names the remedy."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from benchmarks.peers.spark.connector import _fallbacks, _resolve_nearest, kafka_connector_jars
from devtools.servers.ivy import Artifact, JarResolutionError
from devtools.servers.local_repository import LocalRepository

CONNECTOR = "spark-sql-kafka-0-10_2.13"
TOKENS = "spark-token-provider-kafka-0-10_2.13"
LIBRARY = Artifact("org.library", "library", "1.0")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalRepository:
    local = LocalRepository(tmp_path / "repository")
    local.add(LIBRARY)
    monkeypatch.setenv("KSTREAMS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KSTREAMS_IVY_SETTINGS", str(local.settings))
    return local


def spark(name: str, version: str) -> Artifact:
    return Artifact("org.apache.spark", name, version)


def test_connector_of_the_installed_spark_version_is_used_if_available(
    repository: LocalRepository, tmp_path: Path
) -> None:
    wanted = (
        repository.add(spark(CONNECTOR, "4.1.9")),
        repository.add(spark(TOKENS, "4.1.9")),
        LIBRARY,
    )
    repository.add(spark(CONNECTOR, "4.1.3"))
    jars = _resolve_nearest(wanted, _fallbacks("4.1.9"), tmp_path / "jars")
    assert ["library-1.0.jar", f"{CONNECTOR}-4.1.9.jar", f"{TOKENS}-4.1.9.jar"] == [
        jar.name for jar in jars
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("version", "connector", "tokens"),
    [("4.1.9", "4.1.3", "4.0.0"), ("4.2.9", "4.2.0", "4.2.0"), ("4.3.0", "4.2.0", "4.2.0")],
)
def test_resolve_uses_the_nearest_version_of_each_artifact_whose_version_is_missing(
    repository: LocalRepository, tmp_path: Path, version: str, connector: str, tokens: str
) -> None:
    repository.add(spark(CONNECTOR, connector))
    repository.add(spark(TOKENS, tokens))
    wanted = (spark(CONNECTOR, version), spark(TOKENS, version), LIBRARY)
    jars = _resolve_nearest(wanted, _fallbacks(version), tmp_path / "jars")
    assert ["library-1.0.jar", f"{CONNECTOR}-{connector}.jar", f"{TOKENS}-{tokens}.jar"] == [
        jar.name for jar in jars
    ]


@pytest.mark.usefixtures("repository")
def test_connector_download_failure_names_the_variable_and_the_spark_setting() -> None:
    with pytest.raises(JarResolutionError, match="cannot download") as caught:
        kafka_connector_jars()
    assert "KSTREAMS_KAFKA_JARS" in str(caught.value)
    assert f"spark.jars.packages=org.apache.spark:{CONNECTOR}:{pyspark.__version__}" in str(
        caught.value
    )


def test_connector_jars_are_those_of_the_folder_in_the_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSTREAMS_KAFKA_JARS", str(tmp_path))
    with pytest.raises(JarResolutionError, match=r"has no \*\.jar"):
        kafka_connector_jars()
    for name in ("b.jar", "a.jar", "notes.txt"):
        (tmp_path / name).touch()
    assert (tmp_path / "a.jar", tmp_path / "b.jar") == kafka_connector_jars()


@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_connector_jars_are_downloaded_by_ivy() -> None:
    names = [jar.name for jar in kafka_connector_jars()]
    assert names[:2] == ["commons-pool2-2.12.1.jar", "kafka-clients-3.9.1.jar"]
    assert names[2].startswith(f"{CONNECTOR}-4.")
    assert names[3].startswith(f"{TOKENS}-4.")
    assert len(names) == 4
