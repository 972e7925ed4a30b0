"""Divides the rows of a store among other tasks by their keys, for another partition count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.state.backend.working import StoreChanges, WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec

__all__ = ("Owners", "StoreDivision", "count_rows")

Owners = Callable[[pa.Array], npt.NDArray[np.int32]]
"""Returns the new task of each key of a `binary` array; keys are encoded with the store's serde."""

_ROWS_AT_ONCE = 10_000


class StoreDivision:
    """Divides one store of old tasks among new tasks.

    Call `add` for each old task, then `finish` once. Rows of kinds with `divides_rows` move as
    bytes, so indexes, timers and expiry times stay as they are. Rows of other kinds are read by
    `contents` and written by `filling`, as in a migration.

    Args:
        spec: The definition of the store.
        targets: The empty working stores of the new tasks, by number.
    """

    def __init__(self, spec: StoreSpec[Any], targets: Sequence[WorkingStore]) -> None:
        self._spec = spec
        self._targets = targets
        self._values: list[object] = []

    def add(self, source: WorkingStore, owners: Owners) -> None:
        """Divide the rows of an old task.

        Args:
            source: The working store of the old task.
            owners: Returns the new task of each key; raises if the task has another task's key.

        Raises:
            SerdeError: A key cannot be decoded.
            CheckpointMismatchError: The kind of store cannot be divided.
        """
        kind, spec = self._spec.kind, self._spec
        self._values.append(kind.task_values(spec, Overlay(source)))
        for rows, tasks in _owned(spec, source, owners):
            parts: dict[int, list[Any]] = {}
            for row, task in zip(rows, tasks, strict=True):
                parts.setdefault(task, []).append(row)
            for task, own in parts.items():
                self._write(self._targets[task], own)

    def finish(self) -> None:
        """Write the values of whole tasks, such as clocks, to the new tasks."""
        for target in self._targets:
            overlay = Overlay(target)
            self._spec.kind.set_task_values(self._spec, overlay, self._values)
            target.write(overlay.changes())

    def _write(self, target: WorkingStore, rows: Sequence[Any]) -> None:
        """Write encoded rows, or entries of `contents`, to a new task."""
        if self._spec.kind.divides_rows:
            target.write({self._spec.name: StoreChanges(rows)})
            return
        overlay = Overlay(target)
        fill = self._spec.kind.filling(self._spec, overlay)
        for row in rows:
            fill(row)
        target.write(overlay.changes())


def count_rows(spec: StoreSpec[Any], source: WorkingStore, owners: Owners) -> dict[int, int]:
    """Return the number of rows of an old task by new task, as `StoreDivision.add` divides them.

    Args:
        spec: The definition of the store.
        source: The working store of the old task.
        owners: As for `StoreDivision.add`, with the same errors.
    """
    found: dict[int, int] = {}
    for _, tasks in _owned(spec, source, owners):
        for task in tasks:
            found[task] = found.get(task, 0) + 1
    return found


def _owned(
    spec: StoreSpec[Any], source: WorkingStore, owners: Owners
) -> Iterator[tuple[Sequence[Any], Sequence[int]]]:
    """Yield parts of a store: encoded rows, or entries of `contents`, and the new task of each."""
    keyed = _keyed_rows(spec, source) if spec.kind.divides_rows else _keyed_contents(spec, source)
    while found := list(islice(keyed, _ROWS_AT_ONCE)):
        keys = pa.array([key for key, _ in found], pa.binary())
        yield [row for _, row in found], owners(keys).tolist()


def _keyed_rows(spec: StoreSpec[Any], source: WorkingStore) -> Iterator[tuple[bytes, Any]]:
    """Yield the encoded rows of keys, each preceded by its key as the store's serde encodes it."""
    key_of, encode = spec.kind.key_of_row, _plain_key(spec)
    for pair in source.scan(spec.name, None, None):
        key = key_of(pair[0])
        if key is not None:
            yield key if encode is None else encode(key), pair


def _keyed_contents(spec: StoreSpec[Any], source: WorkingStore) -> Iterator[tuple[bytes, Any]]:
    for content in spec.kind.contents(spec, Overlay(source)):
        yield spec.key.serialize(content.key), content


def _plain_key(spec: StoreSpec[Any]) -> Callable[[bytes], bytes] | None:
    """Return a function from ordered bytes of a key to the serde's bytes; None if not needed."""
    key = spec.key
    if key.ordered is key:
        return None
    decode, encode = key.ordered.deserialize, key.serialize
    return lambda data: encode(decode(data))
