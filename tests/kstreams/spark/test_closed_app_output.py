"""A closed app prints nothing on the terminal."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.kstreams.spark.test_app import wait_for
from tests.support.spark.bench import TOTALS, WORDS, Bench

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

_TO_THE_END = """
import sys
import time
from pathlib import Path
from pyspark.sql import SparkSession
from kstreams import App, Embedded
from tests.support.spark.bench import counting

home = Path(sys.argv[1])
App(counting(), Embedded(home / "topics"), checkpoint=home / "checkpoint").run(until="end")

# What Spark does with workers that have nothing to do, for a minute or at the end.
context = SparkSession.getActiveSession().sparkContext
jvm, gateway = context._jvm, context._gateway
# Not `jvm.org.apache.spark.SparkEnv`: from Spark 4.3 on, Py4J cannot list methods of the class,
# because one of them needs the classes of Spark Connect.
env = context._jsc.sc().env()
field = jvm.java.lang.Class.forName("org.apache.spark.SparkEnv").getDeclaredField("pythonWorkers")
field.setAccessible(True)
factories = list(jvm.scala.jdk.javaapi.CollectionConverters.asJava(field.get(env)).values())
assert factories
for factory in factories:
    for method in factory.getClass().getDeclaredMethods():
        if method.getName().endswith("cleanupIdleWorkers"):
            method.setAccessible(True)
            method.invoke(factory, gateway.new_array(jvm.java.lang.Object, 0))
            print("closed", flush=True)
time.sleep(2)
"""

_ON = """
import sys
from pathlib import Path
from kstreams import App, Embedded
from tests.support.spark.bench import counting

home = Path(sys.argv[1])
App(counting(), Embedded(home / "topics"), checkpoint=home / "checkpoint").run()
print("left", flush=True)
"""


def begin(program: str, bench: Bench, *, own_session: bool = False) -> subprocess.Popen[str]:
    bench.create(WORDS)
    bench.emit(WORDS, [(f"k{n % 7}", "x") for n in range(50)])
    return subprocess.Popen(
        [sys.executable, "-c", program, str(bench.home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=own_session,
    )


def test_workers_closed_by_spark_print_nothing(bench: Bench) -> None:
    with begin(_TO_THE_END, bench) as process:
        out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert set(out.split()) == {"closed"}
    assert "Traceback" not in err


@pytest.mark.kill
def test_ctrl_c_stops_app_without_traceback(bench: Bench) -> None:
    with begin(_ON, bench, own_session=True) as process:
        wait_for(lambda: TOTALS.name in bench.connection.admin().topics(), 120)
        wait_for(lambda: len(bench.raw(TOTALS)) == 50, 60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "left\n")
    assert "Traceback" not in err
