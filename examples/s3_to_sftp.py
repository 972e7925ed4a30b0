"""Copy objects of a bucket to a partner's SFTP server as files with the same names.

The bucket's credentials come from the environment. The partner sees a file when its batch is
committed. After a crash, the app resumes at its last commit.

python examples/s3_to_sftp.py s3://bucket/outgoing sftp://user@host/incoming KEY_FILE KNOWN_HOSTS
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from kstreams import App, Record, TopologyBuilder
from kstreams.serde import BYTES
from kstreams.sources import Whole
from kstreams_objects import FileForEach
from kstreams_s3 import S3, objects
from kstreams_sftp import Sftp


def path_of(record: Record[str, bytes]) -> str:
    """Return the path of a file: its old path without the folder of the day."""
    return record.key.partition("/")[2] or record.key


def main(source: S3, partner: Sftp, home: Path) -> None:
    files = objects("outgoing", source, Whole(BYTES), pattern="*.pdf")
    copies: FileForEach[str, bytes] = FileForEach(
        partner, path=path_of, body=lambda record: record.value
    )
    builder = TopologyBuilder("copies")
    read = builder.add_source("outgoing", files)
    builder.add_sink("copies", copies, read)
    with App(builder.build(), checkpoint=home / "checkpoint") as app:
        app.run(until="end")


if __name__ == "__main__":
    bucket = S3(
        sys.argv[1],
        endpoint_url=os.environ.get("AWS_ENDPOINT_URL"),
        access_key=os.environ.get("AWS_ACCESS_KEY_ID"),  # passed on to the workers
        secret_key=os.environ.get("AWS_SECRET_ACCESS_KEY"),
    )
    server = Sftp(sys.argv[2], key_file=sys.argv[3], known_hosts=sys.argv[4])
    with TemporaryDirectory(prefix="kstreams-example-") as place:
        main(bucket, server, Path(place))
    print(*sorted(server.open().list("")), sep="\n")
