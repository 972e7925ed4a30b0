"""A Cassandra node as a process on loopback.

To run it by hand, from the root of the repository::

    python -m devtools.servers.cassandra
"""

from __future__ import annotations

import json
from pathlib import Path

from devtools.servers.ivy import Artifact
from devtools.servers.java_server import JavaServer
from devtools.servers.process import say_and_wait

__all__ = ("CassandraServer",)

_ALL = Artifact("org.apache.cassandra", "cassandra-all", "5.0.4")
_NEWEST_JAVA = 17
_OPENS = (
    *["java.base/java.io", "java.base/java.lang", "java.base/java.lang.module"],
    *["java.base/java.lang.reflect", "java.base/java.math", "java.base/java.net"],
    *["java.base/java.nio", "java.base/java.time", "java.base/java.util"],
    *["java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic"],
    *["java.base/jdk.internal.loader", "java.base/jdk.internal.math"],
    *["java.base/jdk.internal.misc", "java.base/jdk.internal.module"],
    *["java.base/jdk.internal.ref", "java.base/jdk.internal.reflect"],
    *["java.base/jdk.internal.util.jar", "java.base/sun.nio.ch"],
    *["java.rmi/sun.rmi.transport.tcp", "jdk.management/com.sun.management.internal"],
)
_EXPORTS = (
    *["java.base/java.lang.ref", "java.base/jdk.internal.misc", "java.base/jdk.internal.ref"],
    *["java.base/sun.nio.ch", "java.management.rmi/com.sun.jmx.remote.internal.rmi"],
    *["java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server", "java.rmi/sun.rmi.transport.tcp"],
    *["java.sql/java.sql", "jdk.compiler/com.sun.tools.javac.file", "jdk.unsupported/sun.misc"],
)
_LOGBACK = """<configuration><appender name="log" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%level %msg%n</pattern></encoder></appender>
<root level="WARN"><appender-ref ref="log"/></root></configuration>
"""


class CassandraServer(JavaServer):
    """One node, without authentication."""

    def __init__(self) -> None:
        super().__init__(
            "Cassandra",
            [_ALL],
            ["-Xmx256m", "-XX:MaxDirectMemorySize=64m", "-Xss512k", *_opened()],
            ports=3,
            compiles=False,
            newest_java=_NEWEST_JAVA,
        )

    def program(self) -> list[str]:
        """Return the main class, after its system properties."""
        settings = self.folder / "cassandra.yaml"
        settings.write_text(json.dumps(_settings(self.folder, self.ports)))  # JSON is YAML
        logback = self.folder / "logback.xml"
        logback.write_text(_LOGBACK)
        (agent,) = self.jars.glob("jamm-*.jar")
        properties = {
            "jdk.attach.allowAttachSelf": "true",
            "java.net.preferIPv4Stack": "true",
            "cassandra.config": settings.as_uri(),
            "cassandra.storagedir": str(self.folder),
            "cassandra.logdir": str(self.folder),
            "cassandra.jmx.local.port": str(self.ports[2]),
            "cassandra.ring_delay_ms": "0",
            "cassandra.skip_wait_for_gossip_to_settle": "0",
            "cassandra.superuser_setup_delay_ms": "0",
            "logback.configurationFile": str(logback),
        }
        given = [f"-D{name}={value}" for name, value in properties.items()]
        return [f"-javaagent:{agent}", *given, "org.apache.cassandra.service.CassandraDaemon"]


def _opened() -> list[str]:
    opens = [f"--add-opens={each}=ALL-UNNAMED" for each in _OPENS]
    return [*opens, *(f"--add-exports={each}=ALL-UNNAMED" for each in _EXPORTS)]


def _settings(folder: Path, ports: tuple[int, ...]) -> dict[str, object]:
    seeds = {
        "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
        "parameters": [{"seeds": f"127.0.0.1:{ports[1]}"}],
    }
    return {
        "cluster_name": "tests",
        "num_tokens": 1,
        "initial_token": "0",
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "endpoint_snitch": "SimpleSnitch",
        "seed_provider": [seeds],
        "listen_address": "127.0.0.1",
        "rpc_address": "127.0.0.1",
        "native_transport_port": ports[0],
        "storage_port": ports[1],
        "commitlog_sync": "periodic",
        "commitlog_sync_period": "10000ms",
        "commitlog_segment_size": "8MiB",
        "commitlog_total_space": "64MiB",
        "data_file_directories": [str(folder / "data")],
        "commitlog_directory": str(folder / "commitlog"),
        "saved_caches_directory": str(folder / "caches"),
        "hints_directory": str(folder / "hints"),
        "cdc_raw_directory": str(folder / "cdc"),
        "disk_access_mode": "standard",
        "memtable_heap_space": "48MiB",
        "memtable_offheap_space": "32MiB",
        "concurrent_reads": 4,
        "concurrent_writes": 4,
        "concurrent_counter_writes": 2,
        "auto_snapshot": False,
    }


def main() -> None:
    """Run a node until Ctrl-C."""
    with CassandraServer() as server:
        say_and_wait("{}:{}".format(*server.address))


if __name__ == "__main__":
    main()
