"""Objects of the durable log that are named after a batch: packs, and records in loops."""

from __future__ import annotations

import re
from collections.abc import Collection

from kstreams.state.backend.objects import ObjectStore

__all__ = ("sweep_batch_objects",)

_NAME = re.compile(r"(\d{20})-[0-9a-f]+-\d+\.(?:loop|pack)")


def sweep_batch_objects(
    log: ObjectStore, prefix: str, own: str, *, last: int, named: Collection[str]
) -> list[str]:
    """Delete objects that no retained commit names and no running attempt has written.

    Objects with other names than those of a batch stay.

    Args:
        log: The durable log.
        prefix: The prefix of the query's objects of one kind, in all epochs.
        own: The prefix of the current epoch. Batches of other epochs are finished.
        last: The last committed batch; attempts at later batches may be running.
        named: The names in retained commits, savepoints and other queries; these objects stay.

    Returns:
        The names of the deleted objects.
    """
    found: list[str] = []
    for name in log.list(prefix):
        match = _NAME.fullmatch(name.rpartition("/")[2])
        if match is None or name in named:
            continue
        if not name.startswith(own) or int(match[1]) <= last:
            found.append(name)
    log.delete(found)
    return found
