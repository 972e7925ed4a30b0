"""gRPC replies equal those of HTTP, with the same queries, roles and limits."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
import uvicorn
from grpc_health.v1 import health_pb2 as health

from kstreams import INT64, TEXT, View
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams.durations import milliseconds
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.kind import window_store
from kstreams.testing import FakeClock
from kstreams.windows import TumblingWindows, Windowed
from kstreams_serve.grpc import calls
from kstreams_serve.grpc import state_pb2 as pb
from kstreams_serve.grpc.server import grpc_protocol
from kstreams_serve.grpc.service import STATE, Service
from kstreams_serve.roles import Role
from kstreams_serve.served_app import AppSource
from kstreams_serve.server import Server
from kstreams_serve.settings import Limits, ServeSettings
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import SCRAPER, TOKEN, TOKENS, VIEWER, context_of
from tests.support.servers.raw_sockets import MIB, connected, resident_bytes

ROOT = Path(__file__).parents[4]
REPLIES: dict[str, Any] = {
    "List": pb.ListReply, "Read": pb.ReadReply, "Rows": pb.RowsReply, "Follow": pb.FollowReply,
    "Check": health.HealthCheckResponse,
}  # fmt: skip


class Client:
    """A client that calls methods by name."""

    def __init__(self, channel: grpc.Channel, port: int) -> None:
        self._channel = channel
        self.port = port

    def call(
        self,
        name: str,
        request: Any,
        token: str | None = TOKEN,
        service: str = STATE,
        more: tuple[tuple[str, str], ...] = (),
    ) -> Any:
        streams = name in ("Follow", "Watch")
        make: Any = self._channel.unary_stream if streams else self._channel.unary_unary
        method = make(
            f"/{service}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=REPLIES.get(name, pb.ListReply).FromString,
        )
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        return method(request, metadata=(*metadata, *more), timeout=20)

    def begin(self, name: str, token: str | None, requests: Iterator[Any]) -> Any:
        """Call a method whose request arrives later, or never."""
        make: Any = self._channel.stream_unary(
            f"/{STATE}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=REPLIES[name].FromString,
        )
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        return make.future(requests, metadata=metadata, timeout=20)

    def refused(self, *given: Any, **named: Any) -> tuple[str, str]:
        """Return code and text of a failing call."""
        try:
            next(self.call(*given, **named))
        except grpc.RpcError as exc:
            error: Any = exc
            return error.code().name, error.details()
        raise AssertionError("it was answered")


@contextmanager
def calling(
    path: Path,
    spec: StoreSpec[Any] = COUNTS,
    proxies: tuple[str, ...] = (),
    **limits: Any,
) -> Iterator[Client]:
    settings = ServeSettings(
        TOKENS, port=0, limits=replace(Limits(), **limits), forwarded_allow_ips=proxies
    )
    ports: list[int] = []
    known = threading.Event()

    def told(port: int) -> None:
        ports.append(port)
        known.set()

    source = AppSource(checkpoint_of(path), lambda _, __: spec)
    server = Server(settings, [source], protocols=[grpc_protocol(settings, 0, told)])
    runner = uvicorn.Server(server.config)
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [server.socket]})
    thread.start()
    try:
        assert known.wait(20)
        with grpc.insecure_channel(f"127.0.0.1:{ports[0]}") as channel:
            yield Client(channel, ports[0])
    finally:
        runner.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def wanted(*keys: str, **more: Any) -> pb.ReadRequest:
    each = [pb.ReadRequest.Wanted(store="counts", key=pb.Key(text=key)) for key in keys]
    return pb.ReadRequest(app="viewed", wanted=each, **more)


def numbers(rows: Any) -> list[int]:
    return [INT64.deserialize(row.value) for row in rows]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    path = tmp_path_factory.mktemp("called")
    Committing(path, COUNTS).put((f"k{n:02}", n) for n in range(30))
    with calling(path, keys=5, key_bytes=50, failures_a_minute=1000) as found:
        yield found


def test_each_grpc_call_needs_its_role(client: Client) -> None:
    by_role = {Role.OPEN: None, Role.METRICS: SCRAPER, Role.VIEW: VIEWER, Role.DATA: TOKEN}
    for call in Service(context_of()).calls():
        for role, token in by_role.items():
            try:
                found = client.call(call.name, call.request(), token, call.service)
                if call.is_stream:
                    next(found)
                code = "OK"
            except grpc.RpcError as exc:
                error: Any = exc
                code = error.code().name
            may = role >= call.role
            assert (code not in ("UNAUTHENTICATED", "PERMISSION_DENIED")) == may, (call, role)


def test_role_test_detects_missing_role_check(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "require", lambda *_: None)
    with pytest.raises(AssertionError):
        test_each_grpc_call_needs_its_role(client)


def test_wrong_tokens_of_an_address_are_limited_and_a_valid_one_is_accepted(
    tmp_path: Path,
) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    with calling(tmp_path, failures_a_minute=3) as guessed:
        found = [guessed.refused("List", pb.ListRequest(), "x" * 20)[0] for _ in range(5)]
        assert found == ["UNAUTHENTICATED"] * 3 + ["RESOURCE_EXHAUSTED"] * 2
        assert guessed.call("List", pb.ListRequest()).apps


def test_wrong_tokens_are_counted_by_forwarded_address_of_trusted_proxies_only(
    tmp_path: Path,
) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    wrong = "x" * 20
    for proxies, expected in ((("127.0.0.1",), "UNAUTHENTICATED"), ((), "RESOURCE_EXHAUSTED")):
        with calling(tmp_path, proxies=proxies, failures_a_minute=1) as client:
            codes = [
                client.refused(
                    "List", pb.ListRequest(), wrong, more=(("x-forwarded-for", f"1.2.3.{n}"),)
                )[0]
                for n in range(2)
            ]
            assert codes == ["UNAUTHENTICATED", expected]


def test_grpc_call_without_request_message_ends_after_time_limit(tmp_path: Path) -> None:
    """Without a token, a call ends before its request; with one, after the time limit."""
    Committing(tmp_path, COUNTS).put([("a", 1)])
    never = threading.Event()

    def requests() -> Iterator[Any]:
        never.wait(20)
        yield from ()

    with calling(tmp_path, connections=3, head_seconds=0.3) as client:
        try:
            for token, code in ((None, "UNAUTHENTICATED"), (VIEWER, "DEADLINE_EXCEEDED")):
                begun = [client.begin("List", token, requests()) for _ in range(3)]
                assert [each.exception(10).code().name for each in begun] == [code] * 3
            assert client.call("List", pb.ListRequest()).apps
        finally:
            never.set()


def test_grpc_call_closed_without_request_is_refused(client: Client) -> None:
    assert client.begin("List", VIEWER, iter(())).exception(10).code().name == "INVALID_ARGUMENT"


def test_connections_above_the_limit_are_closed(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    with calling(tmp_path, connections=3) as client, ExitStack() as opened:
        assert client.call("List", pb.ListRequest()).apps
        raw = [opened.enter_context(connected(client.port)) for _ in range(20)]
        assert sum(each.recv(100) == b"" for each in raw) == 18
        assert client.call("List", pb.ListRequest()).apps  # over an existing connection


@pytest.mark.long
def test_metadata_above_size_limit_is_not_buffered(client: Client) -> None:
    before = resident_bytes()
    for _ in range(60):
        with pytest.raises(grpc.RpcError):
            client.call("List", pb.ListRequest(), None, more=(("x", "y" * 1_000_000),))
    assert resident_bytes() - before < 30 * MIB
    assert client.call("List", pb.ListRequest()).apps


def test_server_has_a_health_service_and_no_reflection(client: Client) -> None:
    check: Callable[[str], Any] = lambda name: health.HealthCheckRequest(service=name)  # noqa: E731
    service = "grpc.health.v1.Health"
    for name in ("", STATE):
        reply = client.call("Check", check(name), None, service)
        assert reply.status == health.HealthCheckResponse.SERVING
    assert client.refused("Check", check("x"), None, service)[0] == "NOT_FOUND"
    for service, name in (
        ("grpc.health.v1.Health", "Watch"),
        ("grpc.reflection.v1alpha.ServerReflection", "ServerReflectionInfo"),
        ("grpc.reflection.v1.ServerReflection", "ServerReflectionInfo"),
    ):
        assert client.refused(name, pb.ListRequest(), TOKEN, service)[0] == "UNIMPLEMENTED"


def test_grpc_list_returns_apps_and_stores(client: Client) -> None:
    (app,) = client.call("List", pb.ListRequest(), VIEWER).apps
    assert [(app.name, store.name, store.kind) for store in app.stores] == [
        ("viewed", "counts", "key-value")
    ]


@pytest.mark.parametrize(
    ("name", "request_", "code"),
    [
        ("Read", wanted(), "INVALID_ARGUMENT"),
        ("Read", wanted(*"abcde"), "OK"),
        ("Read", wanted(*"abcdef"), "INVALID_ARGUMENT"),
        ("Read", wanted("k" * 51), "RESOURCE_EXHAUSTED"),
        ("Read", pb.ReadRequest(app="x", wanted=wanted("a").wanted), "NOT_FOUND"),
        ("Read", wanted("a", version=pb.Version(batch=9)), "OUT_OF_RANGE"),
        ("Read", wanted("a", version=pb.Version(batch=-5)), "INVALID_ARGUMENT"),
        ("Read", wanted("a", version=pb.Version(savepoint="../x")), "INVALID_ARGUMENT"),
        ("Read", wanted("a", version=pb.Version(savepoint="a\0b")), "INVALID_ARGUMENT"),
        ("Read", wanted("a", version=pb.Version(savepoint="x")), "NOT_FOUND"),
        ("Read", pb.ReadRequest(app="a\0b", wanted=wanted("a").wanted), "INVALID_ARGUMENT"),
        ("Read", pb.ReadRequest(app="viewed", wanted=[{"store": "\0"}]), "INVALID_ARGUMENT"),
        ("Rows", pb.RowsRequest(app="", store="counts"), "INVALID_ARGUMENT"),
        ("Rows", pb.RowsRequest(app="viewed", store="a\nb"), "INVALID_ARGUMENT"),
        ("Follow", pb.FollowRequest(app="viewed", store="a/../b"), "INVALID_ARGUMENT"),
        ("Follow", pb.FollowRequest(app=".."), "INVALID_ARGUMENT"),
        ("Read", wanted("a", version=pb.Version(at_ms=5)), "OUT_OF_RANGE"),
        ("Rows", pb.RowsRequest(app="viewed", store=".."), "INVALID_ARGUMENT"),
        ("Rows", pb.RowsRequest(app="viewed", store="counts", limit=1001), "INVALID_ARGUMENT"),
        ("Rows", pb.RowsRequest(app="viewed", store="counts", cursor="x"), "INVALID_ARGUMENT"),
        ("Rows", pb.RowsRequest(app="viewed", store="counts", from_ms=1), "INVALID_ARGUMENT"),
        (
            "Rows",
            pb.RowsRequest(app="viewed", store="counts", start=pb.Key()),
            "INVALID_ARGUMENT",
        ),
    ],
)
def test_invalid_request_is_refused_with_its_code(
    client: Client, name: str, request_: Any, code: str
) -> None:
    if code == "OK":
        client.call(name, request_)
    else:
        assert client.refused(name, request_)[0] == code


def test_grpc_refuses_large_requests(client: Client) -> None:
    assert client.refused("Read", wanted("k" * 300_000))[0] == "RESOURCE_EXHAUSTED"
    with pytest.raises(grpc.RpcError):
        client.call("List", pb.ListRequest(), "x" * 20_000)


def test_grpc_reads_keys_and_pages_at_one_version(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n:02}", n) for n in range(30))
    Savepoints(app.checkpoint, app.objects).create("then", FakeClock())
    with calling(tmp_path) as client:
        found = client.call("Read", wanted("k03", "none", "k07", json=True))
        assert [numbers(each.rows) for each in found.found] == [[3], [], [7]]
        assert found.found[0].rows[0].json == '{"value": 3}'
        assert (found.version.batch, found.version.wall_ms) == (0, 1000)
        page = client.call("Rows", pb.RowsRequest(app="viewed", store="counts", limit=7))
        rows = list(page.rows)
        app.put((f"k{n:02}", -1) for n in range(40))
        least = pb.Version(least=1)
        later = client.call("Read", wanted("k03", version=least))
        assert (numbers(later.found[0].rows), later.version.batch) == ([-1], 1)
        assert later.version.tag != found.version.tag
        while page.cursor:
            page = client.call(
                "Rows", pb.RowsRequest(app="viewed", store="counts", limit=7, cursor=page.cursor)
            )
            assert page.version == found.version
            rows += page.rows
        assert [row.key for row in rows] == [f"k{n:02}".encode() for n in range(30)]
        assert numbers(rows) == list(range(30))
        some = client.call(
            "Rows",
            pb.RowsRequest(
                app="viewed", store="counts", start=pb.Key(text="k05"), end=pb.Key(data=b"k08"),
                reverse=True, version=pb.Version(savepoint="then"),
            ),
        )  # fmt: skip
        assert numbers(some.rows) == [7, 6, 5]
        prefix = pb.RowsRequest(app="viewed", store="counts", prefix=b"k1", json=True)
        found = client.call("Rows", prefix)
        assert [row.json for row in found.rows] == [
            f'{{"key": "k{n}", "value": -1}}' for n in range(10, 20)
        ]


def test_grpc_reads_windows_of_key(tmp_path: Path) -> None:
    spec = window_store("counts", key=TEXT, value=INT64, windows=TumblingWindows(milliseconds(10)))
    app = Committing(tmp_path, spec)
    app.commit(lambda s, p: [s.put(Windowed(f"k{p}", t, t + 10), t) for t in (10, 20, 30)])
    with calling(tmp_path, spec) as client, View(tmp_path, spec) as view:
        rows = client.call("Rows", pb.RowsRequest(app="viewed", store="counts")).rows
        assert [(row.key.decode(), row.times["start_ms"], *numbers([row])) for row in rows] == [
            (w.key, w.start_ms, v) for w, v in view.fetch_all()
        ]
        some = client.call(
            "Rows", pb.RowsRequest(app="viewed", store="counts", from_ms=20, to_ms=30)
        )
        assert len(some.rows) == 3


def test_grpc_follow_sends_changes_of_key(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    with calling(tmp_path, streams=1) as client:
        request = pb.FollowRequest(app="viewed", store="counts", key=pb.Key(text="a"))
        replies = client.call("Follow", request)
        first = next(replies)
        assert (numbers(first.rows), first.version.batch) == ([1], 0)
        assert client.refused("Follow", request)[0] == "UNAVAILABLE"
        app.put([("b", 1)])
        app.put([("a", 2)])
        second = next(replies)
        assert (numbers(second.rows), second.version.batch) == ([2], 2)
        replies.cancel()


def test_generated_grpc_code_matches_proto_definition(tmp_path: Path) -> None:
    """Run `python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. SOURCE` in `packages/`."""
    source = "kstreams_serve/grpc/state.proto"
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'packages'}",
         f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", source],
        check=True,
    )  # fmt: skip
    for name in ("state_pb2.py", "state_pb2.pyi"):
        made = (tmp_path / "kstreams_serve/grpc" / name).read_text()
        assert made == (ROOT / "packages/kstreams_serve/grpc" / name).read_text()
