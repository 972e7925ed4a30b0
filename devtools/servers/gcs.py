"""A server with the protocol of Google Cloud Storage, as a process on loopback.

fake-gcs-server, built from its Go module at the first use on a machine. Generation conditions,
resumable uploads and rewrites work as in the real service. To run it by hand, from the root of the
repository::

    python -m devtools.servers.gcs
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from devtools.servers.go_programs import go_program
from devtools.servers.process import ServerProcess, say_and_wait
from kstreams_gcs import GCS

__all__ = ("GcsBucket", "GcsServer")

_PACKAGE = "github.com/fsouza/fake-gcs-server"
_VERSION = "v1.56.1"


class GcsServer(ServerProcess):
    """One server with its objects in memory, without authentication.

    Raises:
        NoServerError: Go is not installed, or the module cannot be downloaded.
    """

    def __init__(self) -> None:
        self._program = go_program("fake-gcs-server", _PACKAGE, _VERSION)
        super().__init__("Gcs")

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self.ports[0]}"

    def command(self) -> Sequence[str]:
        """Return the program with its options."""
        options = {
            "backend": "memory",
            "scheme": "http",
            "host": "127.0.0.1",
            "port": str(self.ports[0]),
            "public-host": f"127.0.0.1:{self.ports[0]}",
        }
        return [self._program, *(word for name in options for word in (f"-{name}", options[name]))]

    def answers(self) -> bool:
        """Return whether the server answers."""
        try:
            urllib.request.urlopen(f"{self.url}/_internal/healthcheck", timeout=2).close()
        except OSError:
            return False
        return True


class GcsBucket:
    """A bucket of a server, accessed by plain HTTP requests without the library.

    Args:
        url: The URL of the server.
        name: The bucket, created here.
    """

    def __init__(self, url: str, name: str) -> None:
        self.url = url
        self.name = name
        body = json.dumps({"name": name}).encode()
        self._ask("POST", f"{url}/storage/v1/b?project=tests", body, "application/json")

    def settings(self, prefix: str = "", **options: Any) -> GCS:
        """Return the library's settings for a prefix of the bucket."""
        given: dict[str, Any] = {"endpoint_url": self.url, "anonymous": True, **options}
        return GCS(f"gs://{self.name}/{prefix}", **given)

    def put(self, key: str, data: bytes) -> None:
        """Write or replace an object."""
        address = f"{self.url}/upload/storage/v1/b/{self.name}/o?uploadType=media&name={_q(key)}"
        self._ask("POST", address, data, "application/octet-stream")

    def get(self, key: str) -> bytes:
        """Return an object's bytes."""
        return self._ask("GET", f"{self._object(key)}?alt=media")

    def delete(self, key: str) -> None:
        """Delete an object."""
        self._ask("DELETE", self._object(key))

    def keys(self, prefix: str = "") -> list[str]:
        """Return the names of all objects, sorted."""
        found = json.loads(
            self._ask("GET", f"{self.url}/storage/v1/b/{self.name}/o?prefix={_q(prefix)}")
        )
        return sorted(item["name"] for item in found.get("items", ()))

    def _object(self, key: str) -> str:
        return f"{self.url}/storage/v1/b/{self.name}/o/{_q(key)}"

    @staticmethod
    def _ask(method: str, url: str, body: bytes | None = None, kind: str = "") -> bytes:
        headers = {"Content-Type": kind} if kind else {}
        request = urllib.request.Request(url, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            found: bytes = answer.read()
        return found


def _q(text: str) -> str:
    return quote(text, safe="")


def main() -> None:
    """Run a server until Ctrl-C."""
    with GcsServer() as server:
        say_and_wait(server.url)


if __name__ == "__main__":
    main()
