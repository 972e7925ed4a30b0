"""An OpenSearch node as a process on loopback, without authentication.

To run it by hand, from the root of the repository::

    python -m devtools.servers.opensearch
"""

from __future__ import annotations

import urllib.request

from devtools.servers.ivy import Artifact
from devtools.servers.java_server import JavaServer
from devtools.servers.process import say_and_wait

__all__ = ("OpenSearchServer",)

_JARS = (
    Artifact("org.opensearch", "opensearch", "2.19.1"),
    Artifact("org.opensearch.plugin", "transport-netty4-client", "2.19.1"),
    Artifact("org.apache.logging.log4j", "log4j-core", "2.21.0"),
)
_OPTIONS = (
    "-Xmx320m",
    "-XX:MaxDirectMemorySize=96m",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j2.level=WARN",
    "-Dio.netty.noUnsafe=true",
)


class OpenSearchServer(JavaServer):
    """One node, without authentication."""

    def __init__(self) -> None:
        super().__init__("OpenSearch", _JARS, _OPTIONS, ports=2)

    @property
    def url(self) -> str:
        """The URL of the node."""
        return f"http://127.0.0.1:{self.ports[0]}"

    def program(self) -> list[str]:
        """Return its launcher, with its home and ports."""
        (self.folder / "config").mkdir(exist_ok=True)
        ports = map(str, self.ports)
        return [self.launcher("OpenSearchOnLoopback"), str(self.folder), *ports]

    def answers(self) -> bool:
        """Return whether the node has started."""
        try:
            urllib.request.urlopen(self.url, timeout=2).close()
        except OSError:
            return False
        return True


def main() -> None:
    """Run a server until Ctrl-C."""
    with OpenSearchServer() as server:
        say_and_wait(server.url)


if __name__ == "__main__":
    main()
