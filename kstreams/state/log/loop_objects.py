"""Records that tasks send to loops for the next batch, as objects of the durable log.

Each attempt writes its own objects, with a part for each loop and receiving task. The commit names
the parts of the successful attempts; these parts are the input of the next batch. So pointers,
commit and input are consistent, and each record is processed exactly once. `sweep_batch_objects`
deletes the objects of commits that are no longer retained, and of failed attempts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import pyarrow as pa

from kstreams.errors import ObjectMissingError, StateCorruptError
from kstreams.state.backend.objects import ObjectStore, object_name_parts
from kstreams.state.log.durable import Attempt
from kstreams.state.log.fields import checked_integer, checked_text

__all__ = (
    "LoopPart",
    "copy_loops",
    "object_names",
    "parts_from_json",
    "parts_to_json",
    "read_loops",
    "rows_by_loop",
    "write_loops",
)

_DIGEST_BYTES = 32
_SHORT_BYTES = 8
_SHORT_DIGEST = re.compile(r"[0-9a-f]{16}")
_OBJECT_BYTES = 64 * 1024 * 1024
"""The approximate maximum size of an object."""
_AT_ONCE = 16
_HINT = "restore the object from a copy of the log, or start from a savepoint."


@dataclass(frozen=True)
class LoopPart:
    """The records that one task has sent to another task through one loop.

    Attributes:
        loop: The name of the loop.
        task: The number of the receiving task.
        upstream: The number of the sending task.
        name: The name of the object.
        start: The start of the records in the object, in bytes.
        length: The number of bytes.
        rows: The number of records.
        digest: The first 16 hex digits of the SHA-256 at the end of the part.
    """

    loop: str
    task: int
    upstream: int
    name: str
    start: int
    length: int
    rows: int
    digest: str


def write_loops(
    log: ObjectStore,
    prefix: str,
    attempt: Attempt,
    upstream: int,
    sent: Iterable[tuple[str, int, pa.Table]],
) -> tuple[LoopPart, ...]:
    """Write the loop records of a task durably; they become input once a commit names them.

    Args:
        log: The durable log.
        prefix: The prefix of the objects: `loops_prefix` of an epoch.
        attempt: The attempt.
        upstream: The number of the sending task.
        sent: The loop, the receiving task and the records of each part.

    Raises:
        StoreError: The log rejects the write.
    """
    parts: list[LoopPart] = []
    held: list[LoopPart] = []
    body: list[bytes] = []
    size = objects = 0

    def put() -> None:
        nonlocal size, objects
        name = f"{prefix}{max(attempt.batch, 0):020d}-{attempt.name}-{objects}.loop"
        log.put_if_absent(name, b"".join(body))
        parts.extend(replace(part, name=name) for part in held)
        held.clear()
        body.clear()
        size, objects = 0, objects + 1

    for loop, task, table in sent:
        data = _encoded(table)
        digest = _short(data)
        held.append(LoopPart(loop, task, upstream, "", size, len(data), table.num_rows, digest))
        body.append(data)
        size += len(data)
        if size >= _OBJECT_BYTES:
            put()
    if held:
        put()
    return tuple(parts)


def read_loops(log: ObjectStore, parts: Sequence[LoopPart]) -> list[pa.Table]:
    """Return the records of each part, after checking them against the part's digest.

    Raises:
        StateCorruptError: Records are missing or have changed.
    """
    if len(parts) < 2:  # one needs no threads
        return [_read(log, part) for part in parts]
    with ThreadPoolExecutor(min(len(parts), _AT_ONCE), "kstreams-loops") as pool:
        return list(pool.map(lambda part: _read(log, part), parts))


def copy_loops(
    source: ObjectStore, target: ObjectStore, prefix: str, parts: Sequence[LoopPart]
) -> tuple[LoopPart, ...]:
    """Copy the objects of loop parts to another durable log, after checking the parts' digests.

    Returns the parts with the names of the new objects.

    Args:
        source: The durable log with the objects.
        target: The durable log for the copies.
        prefix: The prefix of the new names.
        parts: The parts, each with the name of its object in `source`.
    """
    names: dict[str, str] = {}
    for name in object_names(parts):
        data = source.get(name)
        for part in parts:
            if part.name == name:
                _table(data[part.start : part.start + part.length], part, source)
        names[name] = prefix + name.rpartition("/")[2]
        target.put_if_absent(names[name], data)
    return tuple(replace(part, name=names[part.name]) for part in parts)


def object_names(parts: Iterable[LoopPart]) -> list[str]:
    """Return the names of the objects that contain parts, without duplicates."""
    return list(dict.fromkeys(part.name for part in parts))


def parts_to_json(parts: Iterable[LoopPart]) -> list[Any]:
    """Return loop parts as JSON data, grouped by object; see `parts_from_json`."""
    found: dict[tuple[str, int], list[Any]] = {}
    for each in parts:
        part = [each.loop, each.task, each.start, each.length, each.rows, each.digest]
        found.setdefault((each.name, each.upstream), []).append(part)
    return [[name, upstream, listed] for (name, upstream), listed in found.items()]


def parts_from_json(data: Iterable[Any]) -> tuple[LoopPart, ...]:
    """Parse the result of `parts_to_json`; raises `ValueError` if the data is invalid."""
    return tuple(part for name, upstream, listed in data for part in _parts(name, upstream, listed))


def _parts(name: object, upstream: object, listed: Iterable[Any]) -> Iterator[LoopPart]:
    text = checked_text(name, "the name of an object")
    object_name_parts(text)
    for loop, task, start, length, rows, digest in listed:
        if not _SHORT_DIGEST.fullmatch(checked_text(digest, "a digest")):
            raise ValueError(f"expected a digest of 16 hex digits, got {digest!r}")
        yield LoopPart(
            checked_text(loop, "a loop"),
            checked_integer(task, "a task"),
            checked_integer(upstream, "a task"),
            text,
            checked_integer(start, "a start"),
            checked_integer(length, "a length"),
            checked_integer(rows, "a count"),
            digest,
        )


def _encoded(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    body: bytes = sink.getvalue().to_pybytes()
    return body + sha256(body).digest()


def _short(data: bytes) -> str:
    start = len(data) - _DIGEST_BYTES
    return data[start : start + _SHORT_BYTES].hex()


def _read(log: ObjectStore, part: LoopPart) -> pa.Table:
    try:
        data = log.get(part.name, part.start, part.length)
    except ObjectMissingError as exc:
        raise StateCorruptError(
            f"object {part.name!r} of the durable log {log} is missing: it has unprocessed records "
            f"of loop {part.loop!r}",
            hint=_HINT,
        ) from exc
    return _table(data, part, log)


def _table(data: bytes, part: LoopPart, log: ObjectStore) -> pa.Table:
    content, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    whole = len(data) == part.length and sha256(content).digest() == digest
    if not whole or _short(data) != part.digest:
        raise StateCorruptError(
            f"object {part.name!r} of the durable log {log} is damaged, or not the one that was "
            f"committed: it has unprocessed records of loop {part.loop!r}",
            hint=_HINT,
        )
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()


def rows_by_loop(parts: Iterable[LoopPart]) -> Mapping[str, int]:
    """Return the number of records by loop."""
    found: dict[str, int] = {}
    for part in parts:
        found[part.loop] = found.get(part.loop, 0) + part.rows
    return found
