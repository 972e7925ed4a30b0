"""Objects of the log are plain: other clients read them, and the log reads those of others."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from minio import Minio

from devtools.servers.s3 import Bucket

pytestmark = pytest.mark.slow

NAMES = ("a/b", "app.0%2E1/group é/3/00000000000000000001-x.delta")


@pytest.mark.parametrize("name", NAMES)
def test_boto3_reads_an_object_of_the_log(any_bucket: Bucket, prefix: str, name: str) -> None:
    any_bucket.settings(prefix).open().put_if_absent(name, b"contents")
    found = any_bucket.client.get_object(Bucket=any_bucket.name, Key=f"{prefix}/{name}")
    assert found["Body"].read() == b"contents"


@pytest.mark.parametrize("name", NAMES)
def test_minio_reads_an_object_of_the_log(any_bucket: Bucket, prefix: str, name: str) -> None:
    any_bucket.settings(prefix).open().put_if_absent(name, b"contents")
    place = urlsplit(any_bucket.endpoint).netloc
    client = Minio(place, access_key=any_bucket.access, secret_key=any_bucket.secret, secure=False)
    response = client.get_object(bucket_name=any_bucket.name, object_name=f"{prefix}/{name}")
    try:
        assert response.read() == b"contents"
    finally:
        response.close()
        response.release_conn()
    listed = client.list_objects(bucket_name=any_bucket.name, prefix=f"{prefix}/", recursive=True)
    assert f"{prefix}/{name}" in [item.object_name for item in listed]


def test_log_reads_an_object_of_another_client(any_bucket: Bucket, prefix: str) -> None:
    store = any_bucket.settings(prefix).open()
    any_bucket.client.put_object(Bucket=any_bucket.name, Key=f"{prefix}/a", Body=b"theirs")
    assert store.get("a") == b"theirs"
    assert list(store.list("")) == ["a"]
    assert not store.put_if_absent("a", b"ours")
