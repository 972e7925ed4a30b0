"""A server with MongoDB's protocol as a process on loopback: mongo-java-server, in memory.

No package registry contains MongoDB itself. This server has no transactions and no validators. To
run it by hand, from the root of the repository::

    python -m devtools.servers.mongodb
"""

from __future__ import annotations

from devtools.servers.ivy import Artifact
from devtools.servers.java_server import JavaServer
from devtools.servers.process import say_and_wait

__all__ = ("MongoServer",)

_SERVER = Artifact("de.bwaldvogel", "mongo-java-server", "1.47.0")
_LOGGER = Artifact("org.slf4j", "slf4j-simple", "1.7.36")


class MongoServer(JavaServer):
    """One server, without authentication."""

    def __init__(self) -> None:
        options = ["-Xmx96m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        super().__init__("MongoDB", [_SERVER, _LOGGER], options)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"mongodb://127.0.0.1:{self.ports[0]}/"

    def program(self) -> list[str]:
        """Return its launcher and the port."""
        return [self.launcher("MongoOnLoopback"), str(self.ports[0])]


def main() -> None:
    """Run a server until Ctrl-C."""
    with MongoServer() as server:
        say_and_wait(server.url)


if __name__ == "__main__":
    main()
