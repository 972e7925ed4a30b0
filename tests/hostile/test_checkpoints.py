"""Forged files and objects of a checkpoint: typed errors, bounded memory."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.pause import present_pause
from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams.checkpoint.storage.directory_home import DirectoryHome
from kstreams.state.log.delta import decode
from kstreams.state.log.directory import DirectoryObjectStore
from tests.hostile.memory_limit import MIB, outcome_of

FILES: dict[str, Callable[[Path], object]] = {
    "an endless device": lambda file: file.symlink_to("/dev/zero"),
    "a pipe that nobody writes": os.mkfifo,
    "a directory": Path.mkdir,
    "a link to itself": lambda file: file.symlink_to(file),
    "a large file": lambda file: file.write_bytes(b'"' + b"x" * (300 * MIB)),
    "deep JSON": lambda file: file.write_text("[" * 1_000_000),
    "a long number": lambda file: file.write_text("9" * 5_000_000),
    "no UTF-8": lambda file: file.write_bytes(b"\xff\xfe\x00"),
    "other JSON": lambda file: file.write_text("[1, null]"),
    "nothing": Path.touch,
}


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_forged_checkpoint_description_raises_typed_error(name: str, tmp_path: Path) -> None:
    FILES[name](tmp_path / "app.json")
    found = outcome_of(lambda: Checkpoint.load(checkpoint_of(tmp_path)))
    assert found.startswith("StateCorruptError: "), found


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_forged_pause_file_keeps_the_app_paused(name: str, tmp_path: Path) -> None:
    """The app stays paused whatever the file contains; a path that is no file is an error."""
    FILES[name](tmp_path / "paused.json")

    def read() -> None:
        assert present_pause(DirectoryHome(tmp_path)) is not None

    found = outcome_of(read)
    is_file = (tmp_path / "paused.json").is_file() if name != "a link to itself" else False
    is_read = is_file and name != "a large file"
    assert found.startswith("fine" if is_read else "StateCorruptError: "), found


@pytest.mark.parametrize("name", ["an endless device", "a pipe that nobody writes"])
def test_object_that_is_not_a_file_raises_store_error(name: str, tmp_path: Path) -> None:
    FILES[name](tmp_path / "a")
    found = outcome_of(lambda: DirectoryObjectStore(tmp_path).get("a"))
    assert found.startswith("StoreError: cannot read object 'a'"), found


def delta(fields: object, body: bytes) -> bytes:
    """Return a delta object with its checksum, whatever its contents."""
    head = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    content = b"KSD\x02" + struct.pack("<I", len(head)) + head + body
    return content + sha256(content).digest()


def frame(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


HEADER: dict[str, Any] = {"stores": [["s", 1, 1, 1]], "raw": 10}
DELTAS: dict[str, bytes] = {
    "more bytes than it has": delta({**HEADER, "raw": 1 << 45}, frame(b"x" * 10)),
    "fewer bytes than it has": delta({**HEADER, "raw": 5}, frame(b"x" * 10)),
    "a negative number of bytes": delta({**HEADER, "raw": -5}, frame(b"x" * 10)),
    "no number of bytes": delta({**HEADER, "raw": "x"}, frame(b"x" * 10)),
    "more rows than it has": delta({**HEADER, "stores": [["s", 1 << 50, 1, 1]]}, frame(b"x" * 10)),
    "negative rows": delta({**HEADER, "stores": [["s", -1, 1, 1]]}, frame(b"x" * 10)),
    "no header": delta([], frame(b"x" * 10)),
    "a deep header": delta(b"[" * 1_000_000, frame(b"x" * 10)),
    "no frame": delta(HEADER, b"x"),
    "a bomb": delta({**HEADER, "raw": 10}, frame(b"0" * (300 * MIB))),
}


@pytest.mark.parametrize("name", DELTAS)
def test_forged_delta_object_raises_typed_error(name: str) -> None:
    found = outcome_of(lambda: decode(DELTAS[name], name))
    assert found.startswith("StateCorruptError: "), found
