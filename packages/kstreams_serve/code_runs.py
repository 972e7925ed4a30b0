"""Runs of an app's code for a request: a `kstreams` command in a process with limits."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from starlette.requests import Request

from kstreams_serve.problems import Problem

__all__ = ("CodeRuns",)

_PROGRAM = "from kstreams_cli import main; main()"
_MOST_SECONDS = 30.0
_LOOK_SECONDS = 0.2
_MOST_BYTES = 1 << 30
_MOST_ANSWER = 16 * 1024 * 1024
_MOST_ERROR = 2_000
_SECRET = "KSTREAMS_SERVE"  # noqa: S105  # the prefix of environment variables
_START = "start the server with --topology, and --connection where topics are not in ./data."


class CodeRuns:
    """Runs `kstreams` commands that execute an app's code, one at a time.

    The child process has 30 s and 1 GiB, is killed with its request, and has no tokens of the
    server: they are removed from its environment.

    Args:
        options: The options of every command, by app.
        seconds: The time limit of a command.

    Attributes:
        is_busy: Whether a command runs.
    """

    def __init__(
        self,
        options: Mapping[str, Sequence[str]] = MappingProxyType({}),
        *,
        seconds: float = _MOST_SECONDS,
    ) -> None:
        self._options = options
        self._seconds = seconds
        self.is_busy = False

    def knows(self, app: str) -> bool:
        """Return whether the server was given the app's topology."""
        return app in self._options

    async def run(self, request: Request, app: str, command: str, *arguments: str) -> Any:  # noqa: ANN401  # JSON
        """Run a command that prints JSON; return its output.

        Args:
            request: The request: if its client disconnects, the process is killed.
            app: The name of the app.
            command: `explain` or `trace`.
            arguments: The arguments of the command, after the server's own options. `--` must
                precede values that could be mistaken for options.

        Raises:
            Problem: The server does not have the topology of the app; another command runs; the
                command exceeds its time or memory; or it fails.
        """
        options = self._options.get(app)
        if options is None:
            raise Problem(
                404,
                f"the server has no topology of app {app!r} to replay batches with",
                hint=_START,
            )
        if self.is_busy:
            raise Problem(
                503, "the server is replaying another batch", headers={"Retry-After": "2"}
            )
        self.is_busy = True
        try:
            limits = ("--most-bytes", str(_MOST_BYTES))
            work = asyncio.ensure_future(
                self._run([command, *options, *limits, "--json", *arguments])
            )
            try:
                while not (await asyncio.wait({work}, timeout=_LOOK_SECONDS))[0]:
                    if await request.is_disconnected():
                        raise Problem(499, "the client closed the request")
                return work.result()
            finally:
                work.cancel()
                await asyncio.wait({work})
        finally:
            self.is_busy = False

    async def _run(self, command: Sequence[str]) -> Any:  # noqa: ANN401  # JSON
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", _PROGRAM, *command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            env={name: v for name, v in os.environ.items() if not name.startswith(_SECRET)},
            limit=_MOST_ANSWER,
        )
        try:
            work = asyncio.gather(_read(child.stdout), _read(child.stderr))
            said, problem = await asyncio.wait_for(work, self._seconds)
            code = await asyncio.wait_for(child.wait(), self._seconds)
        except asyncio.TimeoutError as exc:
            raise Problem(
                504, f"the replay of the batch takes more than {self._seconds:.0f} s",
                hint=f"run kstreams {command[0]} on the command line: it has no time limit.",
            ) from exc  # fmt: skip
        finally:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    child.kill()
                await child.wait()
        try:
            return json.loads(said)
        except ValueError as exc:
            text = problem[-_MOST_ERROR:].decode("utf-8", "replace").strip()
            status = 409 if code == 1 and text else 500
            raise Problem(
                status, f"the batch could not be replayed: {text or f'exit code {code}'}"
            ) from exc


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    """Read a stream to its end, or up to the maximum size of a response."""
    data = bytearray()
    while stream is not None and len(data) <= _MOST_ANSWER and (more := await stream.read(65536)):
        data += more
    return bytes(data)
