"""Writing of snapshots: all stores of a task, in chunks by key range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from zlib import crc32

from kstreams.state.backend.working import Changes, Pair, StoreChanges, WorkingStore
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import ObjectRef, Pointer

__all__ = ("CHUNK_BYTES", "write_snapshot")

CHUNK_BYTES = 16 * 1024 * 1024
"""The approximate size of a chunk's keys and values before compression."""

_CUT_MASK = 63
_BLOCK_PAIRS = 1024
_PAIR_BYTES = 8
_PARALLEL_WRITES = 4
_UNSIGNED = Attempt("", 0)


def write_snapshot(
    log: DurableLog,
    pointer: Pointer,
    store: WorkingStore,
    attempt: Attempt,
    *,
    chunk_bytes: int = CHUNK_BYTES,
) -> Pointer:
    """Write the content of a working store, and return the pointer of the snapshot.

    A chunk that the current snapshot has with the same bytes is not written again. Boundaries
    of chunks depend on keys, so a change in one chunk does not move the boundaries after it.

    Args:
        log: The log for the chunks.
        pointer: The version of the store.
        store: The working store at exactly that version.
        attempt: The attempt in the names of the chunks.
        chunk_bytes: The approximate size of a chunk before compression.
    """
    present = {(ref.digest, ref.size_bytes): ref for ref in pointer.snapshot}
    refs: list[ObjectRef | Future[ObjectRef]] = []
    with ThreadPoolExecutor(_PARALLEL_WRITES, "kstreams-snapshot") as pool:
        for number, chunk in enumerate(_chunks(store, pointer.stores, chunk_bytes)):
            data = log.encode(chunk, 0, _UNSIGNED, "", "chunk")
            ref = log.ref(data, pointer.version, attempt, f"{number:06d}.chunk")
            known = present.get((ref.digest, ref.size_bytes))
            refs.append(known or pool.submit(log.put, ref, data))
            if number >= _PARALLEL_WRITES:
                _wait(refs[number - _PARALLEL_WRITES])
        return pointer.with_snapshot(tuple(_wait(ref) for ref in refs))


def _wait(ref: ObjectRef | Future[ObjectRef]) -> ObjectRef:
    return ref.result() if isinstance(ref, Future) else ref


def _chunks(store: WorkingStore, names: Sequence[str], chunk_bytes: int) -> Iterator[Changes]:
    chunk: dict[str, StoreChanges] = {}
    size = 0
    for name in names:
        pairs: list[Pair] = []
        scan = store.scan(name, None, None)
        while block := list(islice(scan, _BLOCK_PAIRS)):
            block_size = sum(map(len, chain.from_iterable(block))) + _PAIR_BYTES * len(block)
            if size + block_size < chunk_bytes:
                pairs += block
                size += block_size
                continue
            for key, value in block:
                pairs.append((key, value))
                size += len(key) + len(value) + _PAIR_BYTES
                if size >= chunk_bytes and (size >= 2 * chunk_bytes or not crc32(key) & _CUT_MASK):
                    yield {**chunk, name: StoreChanges(pairs)}
                    chunk, pairs, size = {}, [], 0
        if pairs:
            chunk[name] = StoreChanges(pairs)
    if chunk:
        yield chunk
