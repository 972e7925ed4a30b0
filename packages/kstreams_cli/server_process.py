"""`kstreams serve` as a child process of a running app, which always ends with the app."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from kstreams_cli.serve import needs_extra
from kstreams_cli.serve_tokens import ACT_TOKEN, TOKEN

__all__ = ("ServerProcess",)

_PROGRAM = "from kstreams_cli import main; main()"
_END_SECONDS = 5


class ServerProcess:
    """Serves one app on this machine in a separate process, so the driver opens no port.

    The server accepts no actions. Its token, and a token for actions, are removed from this
    process's environment, where the app's code could read them.

    Args:
        port: The port on 127.0.0.1; 0 uses a free one.
        topology: The topology, as MODULE:NAME, for stores with custom serdes.
        topics: The connection of topics, as environment variables.
        forwarded: Addresses and networks of trusted proxies.

    Raises:
        ImportError: The extra `serve` is not installed.
    """

    def __init__(
        self,
        port: int,
        topology: str,
        topics: Mapping[str, str],
        forwarded: Sequence[str] = (),
    ) -> None:
        if find_spec("starlette") is None or find_spec("uvicorn") is None:
            raise needs_extra()
        self._options = ["--bind", f"127.0.0.1:{port}", "--topology", topology, "--until-eof"]
        if forwarded:
            self._options += ["--forwarded-allow-ips", ",".join(forwarded)]
        self._topics = dict(topics)
        self._token = os.environ.pop(TOKEN, None)
        os.environ.pop(ACT_TOKEN, None)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, checkpoint: str) -> None:
        """Start the server; the checkpoint must exist. A second call does nothing."""
        if self._process is None:
            environment = {**os.environ, **self._topics}
            if self._token is not None:
                environment[TOKEN] = self._token
            self._process = subprocess.Popen(  # noqa: S603  # our own program
                [sys.executable, "-c", _PROGRAM, "serve", checkpoint, *self._options],
                stdin=subprocess.PIPE,  # closed when this process exits
                env=environment,
            )

    def stop(self) -> None:
        """Stop the server, if it runs."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
