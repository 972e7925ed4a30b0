"""Removes frames from the records of sources, before other steps process the records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from kstreams.errors import RegistryUnavailableError, SerdeError
from kstreams.graph.nodes import Entry, SourceNode
from kstreams.quoting import kind_of, text_of
from kstreams.raw_batch import HEADERS_TYPE, UNREADABLE
from kstreams.serde.base import Serde
from kstreams.serde.framed import framed_in
from kstreams.task.records.queues import Queue
from kstreams.topic import Topic

__all__ = ("Unframing", "as_read")

_RAW = {"key": "framed_key", "value": "framed_value", "headers": "framed_headers"}
"""Additional columns with the original data of the topic, for dead letters and placement."""


def as_read(table: pa.Table) -> pa.Table:
    """Return key, value and headers of a queue's table as their topic has them."""
    if "framed_key" not in table.column_names:
        return table
    for name, raw in _RAW.items():
        table = table.set_column(table.column_names.index(name), name, table.column(raw))
    return table


class Unframing:
    """Removes the frames of the sources' topics from keys and values.

    A row that cannot be read stays unchanged, with the reason in the column `UNREADABLE`: it is
    handled in order, like rows whose headers cannot be read.

    Args:
        entries: The sources, repartition edges and loops of the task, by name.
    """

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._topics = {
            name: entry.topic
            for name, entry in entries.items()
            if isinstance(entry, SourceNode) and _frames(entry.topic)
        }

    def plain(self, queues: Sequence[Queue]) -> list[Queue]:
        """Return queues whose keys and values have no frames.

        All schemas that frames refer to are requested before any row is converted.

        Raises:
            RegistryUnavailableError: The schema registry does not respond.
        """
        if not self._topics:
            return list(queues)
        moved = [self._moved(queue) for queue in queues]
        for queue in moved:
            for data, serde in self._framed(queue):
                for framed in framed_in(serde):
                    framed.learn(data)
        return [self._unframed(queue) for queue in moved]

    def _moved(self, queue: Queue) -> Queue:
        """Prepend frames to the bytes that they belong to, and keep the original columns."""
        topic = self._topics.get(queue.entry)
        table = queue.table
        if topic is None or not table.num_rows:
            return queue
        for name, raw in _RAW.items():
            table = table.append_column(raw, table.column(name))
        if topic.framing is not None:
            kinds = {"key": pa.binary(), "value": pa.binary(), "headers": HEADERS_TYPE}
            given = [table.column(name).cast(kind).combine_chunks() for name, kind in kinds.items()]
            for name, found in zip(kinds, topic.framing.read(*given), strict=True):
                table = table.set_column(table.column_names.index(name), name, found)
        return queue.with_table(table)

    def _framed(self, queue: Queue) -> Iterator[tuple[pa.Array, Serde[object]]]:
        topic = self._topics.get(queue.entry)
        if topic is not None:
            for name, serde in (("key", topic.key), ("value", topic.value)):
                yield queue.table.column(name).combine_chunks(), serde

    def _unframed(self, queue: Queue) -> Queue:
        topic = self._topics.get(queue.entry)
        table = queue.table
        if topic is None or not table.num_rows:
            return queue
        wrong: dict[int, str] = {}
        for name, serde in (("key", topic.key), ("value", topic.value)):
            if serde.plain is not serde:
                data = table.column(name).combine_chunks()
                parts = list(_converted(serde, name, data, 0, wrong))
                table = table.set_column(
                    table.column_names.index(name), name, pa.chunked_array(parts, pa.binary())
                )
        if wrong:
            said = [wrong.get(row) for row in range(table.num_rows)]
            table = table.append_column(UNREADABLE, pa.array(said, pa.string()))
        return queue.with_table(table)


def _frames(topic: Topic[object, object]) -> bool:
    return topic.framing is not None or any(
        serde.plain is not serde for serde in (topic.key, topic.value)
    )


def _converted(
    serde: Serde[object], part: str, data: pa.Array, first: int, wrong: dict[int, str]
) -> Iterator[pa.Array]:
    """Yield keys or values without frames; a row that cannot be converted becomes null.

    After an error, each half of the rows is converted separately, until the invalid rows are found.

    Args:
        serde: The serde with the frame.
        part: `key` or `value`, for reasons.
        data: The keys or values.
        first: The row number of the first of them in the queue.
        wrong: Gets the reason for each invalid row, by row number.
    """
    try:
        yield serde.to_plain(data)
    except RegistryUnavailableError:
        raise
    except Exception as exc:  # noqa: BLE001  # a serde is user code: the row is at fault
        if len(data) == 1:
            said = exc.message if isinstance(exc, SerdeError) else f"{kind_of(exc)}: {text_of(exc)}"
            wrong[first] = f"{part}: {said}"
            yield pa.nulls(1, pa.binary())
            return
        half = len(data) // 2
        yield from _converted(serde, part, data.slice(0, half), first, wrong)
        yield from _converted(serde, part, data.slice(half), first + half, wrong)
