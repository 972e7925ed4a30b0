"""A storage with TLS is used only if its certificate is trusted."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from devtools.servers.fault_proxy import FaultProxy
from devtools.servers.s3 import Bucket, S3Server
from kstreams_s3 import S3, CertificateError
from kstreams_s3.client import make_client

OPENSSL = shutil.which("openssl")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(OPENSSL is None, reason="no openssl to make a certificate with"),
]


def certificate(folder: Path, address: str) -> Path:
    """Make a key and a self-signed certificate for an IP address."""
    key, made = folder / "key.pem", folder / "certificate.pem"
    options = ["-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=storage"]
    options += ["-addext", f"subjectAltName=IP:{address}", "-keyout", str(key), "-out", str(made)]
    subprocess.run([str(OPENSSL), "req", "-x509", *options], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text(key.read_text() + made.read_text())
    return both


@pytest.fixture
def server(s3_server: S3Server, tmp_path: Path) -> Iterator[FaultProxy]:
    """The storage behind TLS with a self-signed certificate."""
    with FaultProxy(s3_server.address, certificate=certificate(tmp_path, "127.0.0.1")) as running:
        yield running


def settings(bucket: Bucket, server: FaultProxy) -> S3:
    return bucket.settings("tls", endpoint_url=server.url, give_up_after=timedelta(seconds=20))


def test_untrusted_certificate_raises_at_once_and_no_request_is_sent(
    bucket: Bucket, server: FaultProxy
) -> None:
    store = settings(bucket, server).open()
    for call in (lambda: store.get("a"), lambda: store.put_if_absent("a", b"x")):
        with pytest.raises(CertificateError) as caught:
            call()
        assert server.url in str(caught.value)
        assert "AWS_CA_BUNDLE" in caught.value.hint
    assert server.seen == []


def test_s3_certificate_of_another_host_is_not_trusted(
    bucket: Bucket, s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = certificate(tmp_path, "127.0.0.2")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(other))
    with FaultProxy(s3_server.address, certificate=other) as server:
        given = settings(bucket, server)
        monkeypatch.setattr("kstreams_s3.store.make_client", make_client)
        with pytest.raises(CertificateError):
            given.open().get("a")
        assert server.seen == []


def test_certificate_trusted_by_the_operator_is_accepted(
    bucket: Bucket, server: FaultProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "certificate.pem"))
    monkeypatch.setattr("kstreams_s3.store.make_client", make_client)
    store = settings(bucket, server).open()
    assert store.put_if_absent(f"{tmp_path.name}/a", b"x")
    assert store.get(f"{tmp_path.name}/a") == b"x"
    assert server.seen
