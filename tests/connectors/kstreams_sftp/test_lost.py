"""Lost connections at each step, unknown servers, refused logins."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from devtools.servers.cut_proxy import CutProxy
from devtools.servers.ports import free_ports
from devtools.servers.sftp import PASSWORD, SftpServer
from kstreams import TEXT
from kstreams.errors import KStreamsError, SinkUnavailableError, SourceUnavailableError
from kstreams.sources import Lines
from kstreams.state import Directory
from kstreams_objects import Columns, JsonLines, Objects
from kstreams_sftp import (
    HostKeyError,
    LoginError,
    Sftp,
    SftpError,
    SftpUnavailableError,
    sftp_folder,
)
from tests.connectors.kstreams_sftp.conftest import Folder
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = [
    pytest.mark.slow,
    # paramiko prefetches in a thread, which dies with its connection and notifies the reader
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

LONG = timedelta(seconds=30)
SHORT = timedelta(milliseconds=300)


def _row(_key: str, total: int) -> Columns:
    return {"n": total}


def _sink(place: Sftp) -> Objects[str, int]:
    return Objects(place, format=JsonLines(), row=_row)


def _other_key() -> str:
    return asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()


@pytest.fixture
def proxy(folder: Folder) -> Iterator[CutProxy]:
    with CutProxy(folder.server.address) as running:
        yield running


HANDSHAKE = (0, 15, 900, 1_300, 1_500, 1_700, 1_900, 2_100, 2_300)
"""Bytes from the server after which a connection is lost: greeting, keys, login, subsystem."""


@pytest.mark.connectors  # takes half a minute
def test_each_file_is_published_once_whenever_the_connection_is_lost(
    folder: Folder, proxy: CutProxy
) -> None:
    """Cut from the greeting to the last rename, and after it, where no connection is lost."""
    batch = cuts = 0
    steps = iter([*HANDSHAKE, *range(2_400, 9_000, 290)])
    place = folder.place(port=proxy.port, give_up_after=LONG)
    for after in steps:
        proxy.cut_after(after)
        write(_sink(place), given(("a", batch)), commit_of(batch))
        batch += 1
        if proxy.cuts == cuts:
            break
        cuts = proxy.cuts
    assert next(steps, None) is not None, "each connection was lost"
    assert cuts > len(HANDSHAKE)
    assert list(folder.files().values()) == [f'{{"n":{n}}}\n' for n in range(batch)]


@pytest.mark.long
def test_reading_continues_after_a_lost_connection(
    folder: Folder, proxy: CutProxy, tmp_path: Path
) -> None:
    rows = [f"{number:08}{'x' * 92}" for number in range(30_000)]
    folder.put("a", "\n".join(rows))
    place = folder.place(port=proxy.port, give_up_after=LONG)
    index = Directory(str(tmp_path / "index"))
    proxy.cut_after(1_200_000, times=20)
    log = sftp_folder("lines", place, Lines(TEXT), index=index, steady_for=timedelta(0))
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        (piece,) = contents.pieces(0, 0, contents.ends()[0])
        table = reader.read(piece, max_bytes=1 << 30)
    assert [value.decode() for value in table["value"].to_pylist()] == rows
    assert proxy.cuts >= 4


@pytest.mark.long
def test_server_that_dies_fails_the_batch_and_is_written_to_after_its_restart(
    tmp_path: Path,
) -> None:
    with SftpServer() as server:
        (server.files / "out").mkdir()
        sink = _sink(server.settings("out", give_up_after=SHORT))
        write(sink, given(("a", 1)), commit_of(0))
        with closing(sink.open()) as writer:
            receipts = writer.write(given(("a", 2)), commit_of(1))
            server.kill()
            with pytest.raises(SinkUnavailableError, match="sftp://"):
                writer.write(given(("a", 3)), commit_of(2))
            with pytest.raises(SinkUnavailableError):
                sink.publish({commit_of(1): receipts})
            log = sftp_folder(
                "lines",
                server.settings("out", give_up_after=SHORT),
                Lines(TEXT),
                index=Directory(str(tmp_path)),
            )
            with pytest.raises(SourceUnavailableError), closing(log.contents()) as contents:
                contents.ends()
        server.start()
        sink.publish({commit_of(1): receipts})
        sink.publish({commit_of(1): receipts})
        write(sink, given(("a", 3)), commit_of(2))
        found = [path.read_text() for path in sorted(server.files.glob("out/*.jsonl"))]
        assert found == [f'{{"n":{n}}}\n' for n in (1, 2, 3)]


def _refused(place: Sftp, kind: type[KStreamsError], match: str) -> None:
    """Check that a place is refused, without a secret in any text."""
    with pytest.raises(kind, match=match) as told:
        list(place.open().list(""))
    shown = f"{told.value!s} {told.value!r} {place!r} {place} {place.open()!r}"
    assert "s3cret" not in shown
    assert "client_key" not in shown
    assert PASSWORD not in shown


def test_wrong_host_key_is_refused_before_the_login(folder: Folder) -> None:
    _refused(
        folder.place(host_keys=(_other_key(),)), HostKeyError, "another host key than the known one"
    )


def test_unknown_host_key_is_refused_unless_allowed(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    _refused(folder.place(host_keys=()), HostKeyError, "no host key of sftp://.* is known")
    known = tmp_path / "known"
    known.write_text(f"other.example {folder.server.host_key}\n")
    _refused(
        folder.place(known_hosts=str(known)), HostKeyError, "the host key of sftp://.* is unknown"
    )
    _refused(folder.place(known_hosts=str(tmp_path / "none")), HostKeyError, "cannot be read")
    port = folder.server.ports[0]
    known.write_text(f"[127.0.0.1]:{port} {folder.server.host_key}\n")
    assert list(folder.place(known_hosts=str(known)).open().list("")) == []
    assert list(folder.place(any_host_key=True).open().list("")) == []


def test_refused_login_is_reported_without_the_secret(folder: Folder) -> None:
    wrong = folder.place(key_file=None, password="s3cret-password")
    _refused(wrong, LoginError, "Authentication|Bad authentication")


@pytest.mark.parametrize("data", [None, b"s3cret, but no key"], ids=["missing", "no key"])
def test_unreadable_key_is_reported_without_the_secret(
    folder: Folder, tmp_path: Path, data: bytes | None
) -> None:
    file = tmp_path / "s3cret_client_key"
    if data is not None:
        file.write_bytes(data)
    _refused(folder.place(key_file=str(file)), LoginError, "cannot be read")


@pytest.mark.long
def test_login_by_password_or_by_key_with_passphrase_is_accepted(tmp_path: Path) -> None:
    with SftpServer() as server:
        assert list(server.settings("", key_file=None, password=PASSWORD).open().list("")) == []
        key = asyncssh.read_private_key(server.client_key)
        file = tmp_path / "client_key"
        key.write_private_key(file, passphrase="s3cret")
        good = server.settings("", key_file=str(file), passphrase="s3cret")
        assert list(good.open().list("")) == []
        _refused(server.settings("", key_file=str(file)), LoginError, "cannot be read")


def test_unreachable_server_is_reported_without_the_secret(folder: Folder) -> None:
    (port,) = free_ports(1)
    place = folder.place(port=port, key_file=None, password="s3cret", give_up_after=SHORT)
    _refused(place, SftpUnavailableError, "cannot list")


def test_connection_to_server_without_greeting_times_out(folder: Folder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = folder.place(
            port=silent.getsockname()[1], give_up_after=SHORT, connect_timeout=SHORT
        )
        _refused(place, SftpUnavailableError, "cannot list")


def test_unwritable_directory_fails_the_batch(folder: Folder) -> None:
    (folder.path / "_staged").write_text("a file in the way")
    with pytest.raises(SinkUnavailableError, match="cannot write"):
        write(_sink(folder.place(give_up_after=SHORT)), given(("a", 1)))


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("sftp://app:s3cret@host/x", {}),
        ("sftp://app:s3/cret@host/x", {}),
        ("ftp://host/x", {}),
        ("sftp:///x", {}),
        ("sftp://host:port/x", {}),
        ("sftp://host/x?s3cret", {}),
        ("sftp://host/a/../../b", {}),
        ("sftp://host/a", {"host_keys": ("nonsense",)}),
        ("sftp://host/a", {"host_keys": (_other_key(),), "any_host_key": True}),
        ("sftp://host/a", {"passphrase": "s3cret"}),
        ("sftp://host/a", {"answer_timeout": timedelta(0)}),
    ],
)
def test_invalid_url_is_refused_without_the_secret(url: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Sftp") as told:
        Sftp(url, **options)
    assert "s3" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("sftp://app@host", "/"),
        ("sftp://app@host/", "/"),
        ("sftp://app@host:2222/in/orders/", "/in/orders"),
        ("sftp://app@host/~", "."),
        ("sftp://app@host/~/in", "in"),
        ("sftp://app@host/in%20here", "/in here"),
    ],
)
def test_sftp_url_has_root_directory_and_user(url: str, root: str) -> None:
    assert (Sftp(url).root, Sftp(url).user) == (root, "app")


def test_sftp_unavailable_error_is_sftp_error_and_source_unavailable_error() -> None:
    assert issubclass(SftpUnavailableError, (SftpError, SourceUnavailableError))
