"""Examples that read from and write to servers of several kinds."""

from __future__ import annotations

import runpy
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.servers.rabbit import RabbitServer
from devtools.servers.s3 import Bucket
from devtools.servers.sftp import SftpServer
from devtools.servers.skipping import or_skip

_EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def run(name: str, *given: str, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("sys.argv", [name, *given])
    runpy.run_path(str(_EXAMPLES / f"{name}.py"), run_name="__main__")


@pytest.fixture
def partner() -> Iterator[SftpServer]:
    with or_skip(SftpServer) as server:
        (server.files / "incoming").mkdir()
        yield server


def test_s3_objects_become_files_on_an_sftp_server(
    bucket: Bucket, partner: SftpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = uuid.uuid4().hex
    objects = {"2026-01-31/bills/1.pdf": b"%PDF\xff 1", "2026-01-31/2.pdf": b"", "3.txt": b"no"}
    for name, data in objects.items():
        bucket.client.put_object(Bucket=bucket.name, Key=f"{prefix}/{name}", Body=data)
    known = partner.folder / "known"
    port = partner.ports[0]
    known.write_text(f"[127.0.0.1]:{port} {partner.host_key}\n")
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", bucket.access)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", bucket.secret)
    run(
        "s3_to_sftp",
        f"s3://{bucket.name}/{prefix}",
        f"sftp://tester@127.0.0.1:{port}/incoming",
        str(partner.client_key),
        str(known),
        patch=monkeypatch,
    )
    found = {
        str(path.relative_to(partner.files / "incoming")): path.read_bytes()
        for path in partner.files.rglob("*")
        if path.is_file()
    }
    assert found == {"bills/1.pdf": b"%PDF\xff 1", "2.pdf": b""}


@pytest.mark.connectors
def test_xml_files_become_amqp_messages(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with or_skip(RabbitServer) as rabbit:
        run("xml_files_to_amqp", rabbit.url, patch=monkeypatch)
    shown = capfd.readouterr().out.splitlines()
    bills = [f'["{name}", "{item}"]' for name in ("ann", "bob") for item in ("tea", "milk")]
    assert [line for line in shown if line.startswith("[")] == bills
