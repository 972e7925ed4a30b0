"""A JVM started before the import of PySpark: conditions, options and failures."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from kstreams.spark.startup.class_archive import ClassArchive, class_archive
from kstreams.spark.startup.early_jvm import begin_jvm, is_plain
from kstreams.spark.startup.java import SPARK_MODULE
from kstreams.spark.startup.jvm import on_quick_jvm
from kstreams.spark.startup.jvm_command import JvmCommand
from kstreams.spark.startup.session_settings import OPTIONS, session_settings
from kstreams.spark.startup.spark_home import spark_home
from tests.kstreams.spark.startup.test_java import make_java
from tests.support.spark.bench import WORDS, Bench

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake Java is a shell script")

_APP = """
import sys
from pathlib import Path
from kstreams import App, Embedded
from kstreams.spark.startup import worker_prefork
assert "pyspark" not in sys.modules
from tests.support.spark.bench import counting
from pyspark import SparkContext

home = Path(sys.argv[1])
app = App(counting(), Embedded(home / "topics"), checkpoint=home / "checkpoint")
app.run(until="end")
java = SparkContext._jvm.java.lang
print(java.System.getProperty("sun.java.command"))
pid = worker_prefork._running.process.pid
print(len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
"""


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassArchive:
    """Return the archive of a fake Java in an empty cache, without settings of a launcher."""
    for name in os.environ:
        if name.startswith(("SPARK_", "JAVA_TOOL", "JDK_JAVA")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KSTREAMS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "17.0.1")))
    monkeypatch.setattr(SparkContext, "_gateway", None)
    found = class_archive(tmp_path / "jdk")
    assert found is not None
    return found


def starts(archive: ClassArchive, script: str) -> None:
    """Give the fake Java a script to run at its start, and create an archive."""
    java = archive.java
    java.write_text(f"#!/bin/sh\n{script}\n")
    again = class_archive(java.parent.parent)
    assert again is not None
    again.path.write_bytes(b"classes")
    again.path.chmod(0o400)


def test_early_jvm_has_options_of_last_start_and_connects_to_pyspark(
    archive: ClassArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments_file = archive.folder.parent / "arguments_file"
    monkeypatch.setattr(
        "kstreams.spark.startup.early_jvm.java_home", lambda: archive.java.parent.parent
    )
    starts(archive, f'echo "$@" > {arguments_file}; exec sleep 60')
    early = begin_jvm({"spark.sql.shuffle.partitions": "3"})
    assert early is not None
    while not arguments_file.exists() or not arguments_file.read_text():
        time.sleep(0.01)
    words = arguments_file.read_text().split()
    home = spark_home()
    assert home is not None
    assert words[:2] == ["-cp", f"{home}/conf:{next(home.glob('jars/slf4j-api*'))}:{home}/jars/*"]
    assert words[2] == "-Xmx1g"
    assert "--add-modules=jdk.incubator.vector" not in words  # Java prints a warning
    assert any(word.startswith("-XX:SharedArchiveFile=") for word in words)
    assert words[-1] == "org.apache.spark.api.python.PythonGatewayServer"
    assert early.folder.stat().st_mode & 0o077 == 0
    early.end()  # a start that failed meanwhile
    assert early.process.poll() is not None
    assert not early.folder.exists()


@pytest.mark.parametrize("found", [None, b"", b"no class"])
def test_early_jvm_is_not_started_with_unknown_spark_launcher(
    archive: ClassArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: bytes | None
) -> None:
    spark = tmp_path / "spark"
    (spark / "jars").mkdir(parents=True)
    if found is not None:
        with ZipFile(spark / "jars" / "spark-launcher_2.13-4.1.9.jar", "w") as jar:
            jar.writestr("org/apache/spark/launcher/JavaModuleOptions.class", found)
    monkeypatch.setattr("kstreams.spark.startup.early_jvm.spark_home", lambda: spark)
    assert JvmCommand.of(spark) is None
    assert begin_jvm({}) is None


def test_early_jvm_that_ends_is_replaced_by_jvm_of_pyspark(
    archive: ClassArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = archive.java.parent.parent
    monkeypatch.setattr("kstreams.spark.startup.early_jvm.java_home", lambda: home)
    starts(archive, "exit 1")
    early = begin_jvm({})
    assert early is not None
    assert early.archive is not None
    tried: list[str] = []

    def make(settings: dict[str, str]) -> SparkSession:
        tried.append(settings[OPTIONS])
        return SparkSession.__new__(SparkSession)

    monkeypatch.setattr(SparkContext, "_jvm", None)
    on_quick_jvm(session_settings({}), home, make, early)  # type: ignore[arg-type]
    assert ["SharedArchiveFile" in each for each in tried] == [False]
    assert not early.archive.path.exists()


@pytest.mark.parametrize(
    ("config", "environment"),
    [
        ({OPTIONS: "-Dmine=1"}, {}),
        ({"spark.driver.memory": "2g"}, {}),
        ({"spark.jars.packages": "a:b:1"}, {}),
        ({"spark.submit.pyFiles": "a.py"}, {}),
        ({"spark.master": "yarn"}, {}),
        ({"spark.master": "local-cluster[2,1,1024]"}, {}),
        ({}, {"SPARK_CONF_DIR": "/etc/spark"}),
        ({}, {"SPARK_HOME": "/opt/spark"}),
        ({}, {"SPARK_SUBMIT_OPTS": "-Dmine=1"}),
        ({}, {"PYSPARK_SUBMIT_ARGS": "--verbose pyspark-shell"}),
        ({}, {"PYSPARK_GATEWAY_PORT": "1"}),
        ({}, {"HADOOP_CONF_DIR": "/etc/hadoop"}),
        ({}, {"JAVA_TOOL_OPTIONS": "-Dmine=1"}),
    ],
)
def test_early_jvm_is_not_started_with_settings_that_change_jvm(
    archive: ClassArchive,
    monkeypatch: pytest.MonkeyPatch,
    config: dict[str, str],
    environment: dict[str, str],
) -> None:
    assert is_plain(session_settings({"spark.sql.ansi.enabled": "true"}))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert not is_plain(session_settings(config))
    assert begin_jvm(config) is None


def test_early_jvm_is_not_started_if_spark_has_configured_defaults(
    archive: ClassArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kstreams.spark.startup.early_jvm.spark_home", lambda: tmp_path)
    assert is_plain(session_settings({}))
    (tmp_path / "conf").mkdir()
    assert not is_plain(session_settings({}))


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_app_runs_on_early_jvm(spark: SparkSession, tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
    environment["KSTREAMS_CACHE"] = str(tmp_path / "no archive")  # a name that cannot be an option
    home = spark_home()
    assert home is not None
    command = JvmCommand.of(home)
    assert command is not None
    assert spark._jvm is not None
    bean = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
    as_told = [str(each) for each in bean.getInputArguments() if str(each) != SPARK_MODULE]
    # Spark's scripts add options before these
    assert as_told[-len(command.options) :] == list(command.options)
    bench = Bench(tmp_path, spark)
    bench.create(WORDS)
    bench.emit(WORDS, [("k", "x")])
    done = subprocess.run(
        [sys.executable, "-c", _APP, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    java, daemons = done.stdout.split()
    assert java == "org.apache.spark.api.python.PythonGatewayServer"
    assert daemons == "1"
