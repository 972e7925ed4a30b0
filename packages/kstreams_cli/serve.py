"""`kstreams serve`: serve queries on committed state over HTTP, in a separate process."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams.checkpoint.storage.named_home import is_url
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.stores.spec import StoreSpec
from kstreams_cli.consoles import stderr
from kstreams_cli.forwarded import ForwardedOption, networks_of
from kstreams_cli.loading import load_connection
from kstreams_cli.serve_limits import LIMIT, limits_of
from kstreams_cli.serve_tokens import ACT_TOKEN, TOKEN, Tokens, tokens_of
from kstreams_cli.stores import AppState, LogOption, TopologyOption, load_log
from kstreams_cli.usage import WrongUsageError

if TYPE_CHECKING:
    from kstreams_serve.server import Server, ServerProtocol
    from kstreams_serve.settings import ServeSettings

__all__ = ("needs_extra", "serve")


def serve(
    checkpoints: Annotated[
        list[str],
        typer.Argument(
            metavar="CHECKPOINT...",
            help="Checkpoints (directories or URLs), or ids of apps with checkpoints in .kstreams.",
            show_default=False,
        ),
    ],
    bind: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Address to listen on. Port 0 selects a free port."),
    ] = "127.0.0.1:8080",
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with tokens. Each line has a role (metrics, view, data or act), a token and "
            "its owner. Other users must not be able to read the file.",
            show_default=f"the token in {TOKEN}, or a new token that is printed",
        ),
    ] = None,
    topology: TopologyOption = None,
    log: LogOption = None,
    connection: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="Connection to the topics, a Kafka(...) or Embedded(...) object. With it, "
            "/metrics has the lag of apps. /explain and /trace read ./data without it.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="Additional host name of the server, as in the URLs of clients. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Origin of another web server whose pages may send requests with a token, such "
            "as https://HOST. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="TLS certificate of the server, PEM.", show_default="no TLS"
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Private key of the TLS certificate, PEM.", show_default=False
        ),
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="A proxy in front of the server terminates TLS, so that other addresses than "
            "127.0.0.1 need no --tls-cert.",
        ),
    ] = False,
    forwarded_allow_ips: ForwardedOption = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            LIMIT,
            metavar="NAME=VALUE",
            help="Limit of the server to change, such as connections=1000. Can be repeated. "
            "docs/limits.md lists all limits and their defaults.",
            show_default=False,
        ),
    ] = None,
    grpc: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            help="Also serve gRPC at this port of the same address.",
            min=1,
            max=65535,
            show_default="no gRPC",
        ),
    ] = None,
    allow_actions: Annotated[
        bool,
        typer.Option(
            "--allow-actions",
            help="Allow tokens of the role act to pause and resume apps, and to create savepoints. "
            f"The environment variable {ACT_TOKEN} sets such a token.",
        ),
    ] = False,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
) -> None:
    """Serve queries on the stores of apps over HTTP, with web pages and metrics.

    Use it to read state from other programs, to watch apps in a browser, and for Prometheus. The
    apps may run or not: the server reads committed state, takes no lock and, without
    --allow-actions, writes nothing. Its log has each action with its user. /openapi.json describes
    the routes, `RemoteView` reads from Python, and Prometheus reads /metrics.

    All routes except /health/live and /health/ready need a token. Only this machine can connect,
    unless --bind has another address, which then needs TLS. With --topology, /explain and /trace
    replay batches of the app in a separate process, one at a time, with at most 30 s and 1 GB, and
    without access to the tokens.

    Example:
        kstreams serve word-count
        curl -H "Authorization: Bearer $TOKEN" localhost:8080/v1/apps/word-count
        curl -H "Authorization: Bearer $TOKEN" localhost:8080/v1/apps/a/stores/s/key?key=apple
        kstreams serve /mnt/a /mnt/b --bind 0.0.0.0:8443 --tls-cert c.pem --tls-key k.pem
    """
    try:
        from kstreams_serve.served_app import AppSource  # noqa: PLC0415  # needs the extra
        from kstreams_serve.server import Server  # noqa: PLC0415
    except ImportError as exc:
        raise needs_extra() from exc
    from kstreams_serve.settings import ServeError, ServeSettings  # noqa: PLC0415

    host, port = _address(bind)
    found = None if log is None else load_log(log)
    limits = limits_of(limit or ())
    try:
        tokens = tokens_of(token_file, allow_actions=allow_actions)
        settings = ServeSettings(
            tokens.roles,
            host,
            port,
            names=tuple(name or ()),
            certificate=tls_cert,
            key_file=tls_key,
            behind_proxy=behind_proxy,
            limits=limits,
            origins=tuple(allow_origin or ()),
            holders=tokens.holders,
            forwarded_allow_ips=networks_of(forwarded_allow_ips),
            allows_actions=allow_actions,
        )
    except ServeError as exc:
        raise WrongUsageError(str(exc)) from exc
    sources = [
        AppSource(
            checkpoint_of(each),
            partial(_spec, topology, found),
            found,
            code=_code(each, topology, log, connection),
        )
        for each in checkpoints
    ]
    protocols = [] if grpc is None else [_grpc(settings, grpc)]
    topics = None if connection is None else load_connection(connection)
    server = Server(settings, sources, topics, protocols)
    if until_eof:
        _end_with_input()
    server.run(partial(_announce, server, tokens))


def _announce(server: Server, tokens: Tokens) -> None:
    """Show the URL of a server, and its tokens if they are new."""
    names = ", ".join(server.apps)
    tokens.show()
    stderr().print(f"[bold]{escape(names)}[/] at {escape(server.url)}", soft_wrap=True)


def _end_with_input() -> None:
    """End this process, as by SIGTERM, when its standard input ends."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1024):  # without the lock that Python takes at its end
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="kstreams-until-eof", daemon=True).start()


def needs_extra() -> ImportError:
    """Return the error that names the missing extra."""
    return ImportError("serving needs starlette and uvicorn: pip install 'kstreams-spark[serve]'")


def _grpc(settings: ServeSettings, port: int) -> ServerProtocol:
    try:
        from kstreams_serve.grpc.server import grpc_protocol  # noqa: PLC0415  # needs the extra
    except ImportError as exc:
        raise ImportError("gRPC needs grpcio: pip install 'kstreams-spark[serve,grpc]'") from exc

    def print_port(bound: int) -> None:
        stderr().print(f"gRPC at port {bound}", soft_wrap=True)

    return grpc_protocol(settings, port, print_port)


def _spec(
    topology: str | None, log: ObjectStoreSettings | None, checkpoint: Checkpoint, store: str
) -> StoreSpec[Any]:
    return AppState(checkpoint, log or checkpoint.log).spec(store, topology=topology)


def _code(
    checkpoint: str, topology: str | None, log: str | None, connection: str | None
) -> tuple[str, ...] | None:
    """Return the options by which `kstreams explain` finds the app's code; None without code."""
    if topology is None:
        return None
    place = checkpoint if is_url(checkpoint) else str(checkpoint_of(checkpoint).named)
    given = {
        "--checkpoint": place,
        "--topology": topology,
        "--log": log,
        "--connection": connection,
    }
    return tuple(part for name, text in given.items() if text is not None for part in (name, text))


def _address(bind: str) -> tuple[str, int]:
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\s]+):([0-9]{1,5})", bind)
    if found is None or int(found[2]) > 65535:  # the last port
        raise WrongUsageError(f"{bind!r} is not HOST:PORT, such as 127.0.0.1:8080", "--bind")
    return found[1].strip("[]"), int(found[2])
