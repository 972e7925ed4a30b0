"""A proxy in front of a real server that adds the latency of a distant network.

The data of both sides arrives after a delay, in order and unchanged; bandwidth is not limited. The
proxy runs as a separate process, and counts HTTP requests by method::

    with SlowProxy(folder, server.address, trip_ms=25) as proxy:
        S3(..., endpoint_url=proxy.url)
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

from devtools.servers.process import Server, launch, launch_on_free_ports

__all__ = ("SlowProxy",)

_START_S = 30.0
_CHUNK = 1 << 16
_METHODS = (b"GET", b"PUT", b"HEAD", b"POST", b"DELETE")


class SlowProxy(Server):
    """A proxy that listens on loopback inside its context.

    Args:
        folder: An existing folder for its log.
        server: Host and port of the real server.
        trip_ms: The added round-trip time of a request and its response.
    """

    def __init__(self, folder: Path, server: tuple[str, int], *, trip_ms: float) -> None:
        self._log = folder / f"proxy-{trip_ms:g}.log"
        self._server = server
        self._trip_ms = trip_ms
        self._process: subprocess.Popen[bytes] | None = None
        self._ports: tuple[int, ...] = ()

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"http://127.0.0.1:{self._ports[0]}"

    def start(self) -> SlowProxy:
        """Start, and wait until it listens."""
        launch_on_free_ports(2, self._start_on, self._log)
        return self

    def stop(self) -> None:
        """Stop the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def requests(self) -> Counter[str]:
        """Return the number of requests since the start, by method."""
        with socket.create_connection(("127.0.0.1", self._ports[1]), timeout=10) as asked:
            return Counter(json.loads(asked.makefile().read()))

    def _start_on(self, ports: tuple[int, ...]) -> None:
        self._ports = ports
        host, port = self._server
        given = [*map(str, ports), host, str(port), str(self._trip_ms)]
        self._process = launch(
            "slow proxy",
            [sys.executable, "-m", "devtools.servers.slow_proxy", *given],
            folder=Path(__file__).parents[2],
            log=self._log,
            answers=self._answers,
            within_s=_START_S,
        )

    def _answers(self) -> bool:
        try:
            self.requests()
        except OSError:
            return False
        return True


class _Proxy:
    """The proxy in its own process."""

    def __init__(self, server: tuple[str, int], one_way_s: float) -> None:
        self._server = server
        self._one_way_s = one_way_s
        self._seen: Counter[str] = Counter()

    async def run(self, port: int, control: int) -> None:
        """Serve until killed."""
        servers = (
            await asyncio.start_server(self._connect, "127.0.0.1", port),
            await asyncio.start_server(self._tell, "127.0.0.1", control),
        )
        await asyncio.gather(*(server.serve_forever() for server in servers))

    async def _tell(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(json.dumps(self._seen).encode())
        await writer.drain()
        writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, to_server = await asyncio.open_connection(*self._server)
        await asyncio.gather(
            self._pass_on(reader, to_server, count=True),
            self._pass_on(upstream, writer, count=False),
        )

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, count: bool
    ) -> None:
        """Forward the data of one side until it ends; each piece is delayed independently."""
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        sender = asyncio.create_task(_send(pieces, writer))
        now = asyncio.get_running_loop().time
        data = b"-"
        while data:
            try:
                data = await reader.read(_CHUNK)
            except ConnectionError:
                data = b""
            if count and data.startswith(_METHODS):
                self._seen[data.partition(b" ")[0].decode()] += 1
            pieces.put_nowait((now() + self._one_way_s, data))
        await sender


async def _send(pieces: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
    now = asyncio.get_running_loop().time
    with suppress(ConnectionError):
        while True:
            due, data = await pieces.get()
            await asyncio.sleep(max(0.0, due - now()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
    writer.close()


def main() -> None:
    """Run the proxy process: PORT CONTROL HOST PORT TRIP_MS."""
    port, control, host, server, trip_ms = sys.argv[1:]
    proxy = _Proxy((host, int(server)), float(trip_ms) / 2000)
    asyncio.run(proxy.run(int(port), int(control)))


if __name__ == "__main__":
    main()
