"""DynamoDB as a process on loopback: Amazon's DynamoDB Local, in memory.

Its license covers development and tests. To run it by hand, from the root of the repository::

    python -m devtools.servers.dynamodb
"""

from __future__ import annotations

from devtools.servers.ivy import Artifact
from devtools.servers.java_server import JavaServer
from devtools.servers.process import say_and_wait

__all__ = ("DynamoServer",)

_LOCAL = Artifact("software.amazon.dynamodb", "DynamoDBLocal", "3.0.0")


class DynamoServer(JavaServer):
    """One server, which accepts any credentials."""

    def __init__(self) -> None:
        super().__init__("DynamoDB", [_LOCAL], ["-Xmx192m", "-DDDB_LOCAL_TELEMETRY=0"])

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.ports[0]}"

    def program(self) -> list[str]:
        """Return its launcher and options."""
        options = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(self.ports[0])]
        return [self.launcher("DynamoOnLoopback"), *options]


def main() -> None:
    """Run a server until Ctrl-C."""
    with DynamoServer() as server:
        say_and_wait(server.url)


if __name__ == "__main__":
    main()
