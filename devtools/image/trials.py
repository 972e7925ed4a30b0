"""Trials of a built image. Each trial returns its problem, or an empty text."""

from __future__ import annotations

from collections.abc import Callable

from devtools.image.builders import Image

__all__ = ("TRIALS",)

Trial = Callable[[Image], str]

_LINES = """
kstreams topics create lines --partitions 2
kstreams topics create totals --partitions 2
printf '1\\ta b a\\n' | kstreams topics produce lines
kstreams run word_count:build --until end --state rocksdb --engine embedded
kstreams health word-count
echo health $?
kstreams topics tail totals --value-serde int64 --limit 2
printf '2\\tc\\n' | kstreams topics produce lines
kstreams health word-count --max-age 0s
echo health $?
"""
_ON_SPARK = """
cat > /tmp/on_spark.py <<'END'
from kstreams import App, Embedded, Emitter
from word_count import LINES, build

topics = Embedded("/tmp/topics", default_partitions=1)
with Emitter(LINES, topics) as emitter:
    emitter.emit(b"1", "tea tea")
with App(build(), topics, checkpoint="/tmp/checkpoint") as app:
    app.run(until="end")
END
/opt/entrypoint.sh driver --master 'local[1]' /tmp/on_spark.py
kstreams state get word-count counts tea --checkpoint /tmp/checkpoint
"""
_EXECUTOR = {
    "SPARK_JAVA_OPT_0": "-Xss2m",
    "SPARK_EXECUTOR_MEMORY": "200m",
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@127.0.0.1:1",
    "SPARK_EXECUTOR_ID": "1",
    "SPARK_EXECUTOR_CORES": "1",
    "SPARK_APPLICATION_ID": "app",
    "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "pod",
}


def _lacks(output: str, *expected: str) -> str:
    """Return the output if it lacks an expected text."""
    lacking = [each for each in expected if each not in output]
    return f"no {lacking[0]!r} in:\n{output}" if lacking else ""


def runs_without_root(image: Image) -> str:
    """The user of the image and of its processes is 185."""
    settings = str(image.settings["User"])
    return _lacks(f"{settings} {image.run('id', '-u')[1]}", "185:185 185")


def works_with_a_read_only_root(image: Image) -> str:
    """No process can write outside of /tmp."""
    _, output = image.run("sh", "-c", "touch /tmp/x && echo wrote; touch /opt/x /var/x")
    return _lacks(output, "wrote", "'/opt/x': Read-only", "'/var/x': Read-only")


def has_tini_as_the_first_process(image: Image) -> str:
    """tini is the parent of the command."""
    return _lacks(image.run("sh", "-c", "cat /proc/$PPID/comm")[1], "tini")


def has_the_compiled_loops(image: Image) -> str:
    """The extension for Kafka loads."""
    check = "from kstreams_kafka.native.library import library; library(None); print('loaded')"
    return _lacks(
        image.run("python", "-c", check, variables={"KSTREAMS_KAFKA_COMPILED": "1"})[1], "loaded"
    )


def counts_words_and_reports_health(image: Image) -> str:
    """The embedded engine works, and `kstreams health` sees pending records."""
    _, output = image.run("sh", "-c", _LINES)
    return _lacks(output, "health 0", "health 1")


def has_a_health_check(image: Image) -> str:
    """The image has a health check by `kstreams health`."""
    return _lacks(str(image.settings.get("Healthcheck")), "kstreams health")


def starts_a_driver(image: Image) -> str:
    """The entry point runs a program by spark-submit."""
    code, output = image.run("sh", "-c", _ON_SPARK)
    return _lacks(f"{output}\nended with {code}", "2\n", "ended with 0")


def starts_an_executor(image: Image) -> str:
    """The entry point runs Spark's executor, which finds no driver here."""
    _, output = image.run("executor", variables=_EXECUTOR)
    return _lacks(output, "KubernetesExecutorBackend", "Connection refused")


TRIALS: tuple[Trial, ...] = (
    runs_without_root,
    works_with_a_read_only_root,
    has_tini_as_the_first_process,
    has_a_health_check,
    has_the_compiled_loops,
    counts_words_and_reports_health,
    starts_a_driver,
    starts_an_executor,
)
