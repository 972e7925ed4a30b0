"""A real Kafka broker as a process on loopback.

KRaft mode, with one node that is broker and controller. Ivy downloads its jars into the library's
cache at the first use on a machine (43 MB). To run it by hand, from the root of the repository::

    python -m devtools.servers.kafka FOLDER
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from devtools.servers.ivy import Artifact, resolve
from devtools.servers.kafka_config import PASSWORD, USER, broker_properties, make_stores
from devtools.servers.process import Server, launch, launch_on_free_ports, say_and_wait, tail
from devtools.servers.silent_logger import SILENT
from kstreams.files import cache_folder
from kstreams.spark.startup.java import java_home
from kstreams_kafka.librdkafka import LATEST

VERSION = "4.4.0"
_START_S = 120.0
_STOP_S = 20.0
_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"


def broker_jars() -> tuple[Path, ...]:
    """Return the broker's jars, downloading them at the first call on a machine."""
    artifacts = (
        Artifact("org.apache.kafka", "kafka_2.13", VERSION),
        # Without a binding for Kafka's slf4j, the broker's log is dropped.
        Artifact("org.slf4j", "slf4j-simple", "1.7.36"),
    )
    into = cache_folder() / "servers" / f"kafka-{VERSION}"
    return resolve(artifacts, into, transitive=True)


class KafkaBroker(Server):
    """One broker with its data in a folder of its own.

    Enter it as a context, or call `start` and `stop`. A topic keeps its records forever unless its
    own configuration sets a retention.

    Args:
        folder: The folder for data, configuration and log; a broker continues with the data of an
            earlier one in the folder.
        sasl: Whether to open a SASL_PLAINTEXT listener, too, for PLAIN and SCRAM-SHA-256 with
            `username` and `password`.
        ssl: Whether to open an SSL listener, too; see `ca_file`, `client_store`.
        heap_mb: The maximum size of the JVM's heap.
    """

    username = USER
    password = PASSWORD

    def __init__(
        self, folder: Path, *, sasl: bool = False, ssl: bool = False, heap_mb: int = 512
    ) -> None:
        self._folder = folder
        self._sasl = sasl
        self._ssl = ssl
        self._heap_mb = heap_mb
        self._process: subprocess.Popen[bytes] | None = None
        self._ports: tuple[int, ...] = ()

    @property
    def bootstrap(self) -> str:
        """The address of the plain listener."""
        return f"127.0.0.1:{self._ports[0]}"

    @property
    def sasl_bootstrap(self) -> str:
        """The address of the SASL_PLAINTEXT listener."""
        return f"127.0.0.1:{self._ports[2]}"

    @property
    def ssl_bootstrap(self) -> str:
        """The address of the SSL listener."""
        return f"127.0.0.1:{self._ports[3]}"

    @property
    def ca_file(self) -> Path:
        """The PEM certificate that a client of the SSL listener trusts."""
        return self._folder / "ca.pem"

    @property
    def client_store(self) -> Path:
        """A PKCS12 key store, opened with `password`, that the SSL listener trusts."""
        return self._folder / "client.p12"

    @property
    def log_file(self) -> Path:
        """The broker's log over all its starts."""
        return self._folder / "broker.log"

    @property
    def pid(self) -> int | None:
        """The process id; None while the broker does not run."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if self._process and running else None

    def start(self) -> KafkaBroker:
        """Start the broker, and return when it answers.

        The broker continues with the data in its folder. A later start uses the ports of the first.
        """
        if self.pid is not None:
            return self
        if self._ports:
            self._launch()
            return self
        launch_on_free_ports(4, self._start_on, self.log_file)
        return self

    def stop(self) -> None:
        """Stop gracefully, if the broker runs."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def kill(self) -> None:
        """Kill the process with SIGKILL, like a crash."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> KafkaBroker:
        """Start again with the same data and ports; stops the broker first if it runs."""
        self.stop()
        return self.start()

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic that never deletes records, wait until it is usable, return its name."""
        create_topic(self.bootstrap, name, partitions, config or {})
        return name

    def _start_on(self, ports: tuple[int, ...]) -> None:
        self._ports = ports
        self._prepare()
        self._launch()

    def _prepare(self) -> None:
        """Write the configuration, create keys, and format the storage, unless already done."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._ssl and not self.ca_file.exists():
            make_stores(self._folder)
        properties = broker_properties(self._folder, self._ports, sasl=self._sasl, ssl=self._ssl)
        lines = "".join(f"{name}={value}\n" for name, value in properties.items())
        (self._folder / "server.properties").write_text(lines, encoding="utf-8")
        if not (self._folder / "data" / "meta.properties").exists():
            scram = ("--add-scram", f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]")
            tool = ("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", "server.properties")
            command = [*self._java("-Xmx128m", "-XX:TieredStopAtLevel=1"), *tool]
            command += scram if self._sasl else ()
            with self.log_file.open("ab") as log:
                done = subprocess.run(
                    command, cwd=self._folder, stdout=log, stderr=log, check=False
                )
            if done.returncode:
                raise RuntimeError(
                    f"the storage tool ended with {done.returncode}:\n{tail(self.log_file)}"
                )

    def _launch(self) -> None:
        command = [*self._java(f"-Xmx{self._heap_mb}m", "-XX:+UseSerialGC"), "kafka.Kafka"]
        self._process = launch(
            "broker",
            [*command, "server.properties"],
            folder=self._folder,
            log=self.log_file,
            answers=lambda: _answers(self.bootstrap),
            within_s=_START_S,
        )

    def _java(self, *flags: str) -> list[str]:
        jars = ":".join(str(jar) for jar in broker_jars())
        level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return [str(java_home() / "bin" / "java"), *flags, level, "-cp", jars]


def create_topic(bootstrap: str, name: str, partitions: int, config: Mapping[str, str]) -> None:
    """Create a topic, by default with `retention.ms=-1`, and wait until it is usable."""
    admin = AdminClient({"bootstrap.servers": bootstrap}, logger=SILENT)
    topic = NewTopic(name, partitions, 1, config={"retention.ms": "-1", **config})
    admin.create_topics([topic])[name].result(30)
    places = {TopicPartition(name, number): LATEST for number in range(partitions)}
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        known = admin.list_topics(timeout=10).topics.get(name)
        if known is not None and len(known.partitions) == partitions:
            leaders = [partition.leader for partition in known.partitions.values()]
            if -1 not in leaders and _lead(admin, places):
                return
        time.sleep(0.02)
    raise TimeoutError(f"topic {name} has no leaders after 30 s")


def _lead(admin: AdminClient, places: dict[TopicPartition, Any]) -> bool:
    """Return whether all leaders accept requests, which may be later than the metadata has them."""
    try:
        for future in admin.list_offsets(places).values():
            future.result(30)
    except KafkaException:
        return False
    return True


def _answers(bootstrap: str) -> bool:
    admin = AdminClient({"bootstrap.servers": bootstrap}, logger=SILENT)
    try:
        return bool(admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return False


def main() -> None:
    """Run a broker until Ctrl-C, and print its address."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()).absolute()
    with KafkaBroker(folder, sasl=True, ssl=True) as broker:
        say_and_wait(
            f"{broker.bootstrap} sasl {broker.sasl_bootstrap} ssl {broker.ssl_bootstrap} "
            f"pid {broker.pid} in {folder}"
        )


if __name__ == "__main__":
    main()
