"""The comparison of the results that the replicas have held back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from kstreams.errors import KStreamsError
from kstreams.graph.nodes import SinkNode
from kstreams.graph.topology import Topology
from kstreams.quoting import repr_of
from kstreams.serde.base import Serde
from kstreams.topic import Topic
from kstreams_admin.values import printable
from kstreams_shadow.comparison import Result, compared_results
from kstreams_shadow.report import MOST_EXAMPLES, Compared, Example
from kstreams_shadow.result_files import ResultSource

__all__ = ("Tables", "Texts", "compared_sinks")

_OWN_HEADERS = "kstreams-"
"""The prefix of headers that contain ids of the replica's batches, which always differ."""
_HEADERS = ("headers",)

Tables = Iterable[tuple[ResultSource, pa.Table]]
"""The results of a replica."""


class Texts:
    """The serdes of a topology's sinks, to show keys and values as text.

    Args:
        topology: The topology.
    """

    def __init__(self, topology: Topology) -> None:
        self._topics = {node.name: node.target for node in topology.sinks if _has_serdes(node)}

    def of(self, source: ResultSource) -> tuple[Callable[[object], str], Callable[[object], str]]:
        """Return the functions that show keys and values of a sink."""
        topic: Any = self._topics.get(source.name) if source.kind == "sink" else None
        if topic is None:
            return repr_of, repr_of
        return _shown_by(topic.key), _shown_by(topic.value)


def _has_serdes(node: SinkNode) -> bool:
    return isinstance(node.target, Topic)


def _shown_by(serde: Serde[Any]) -> Callable[[object], str]:
    def show(data: object) -> str:
        if not isinstance(data, bytes):
            return "null" if data is None else repr_of(data)
        try:
            return printable(serde.deserialize(data))
        except KStreamsError:
            return repr_of(data)

    return show


def compared_sinks(
    batch: int, old: Tables, new: Tables, old_texts: Texts, new_texts: Texts
) -> dict[str, Compared]:
    """Compare the results of both replicas in one batch of the app, by sink.

    Args:
        batch: The number of the batch.
        old: The results of the replica `old`.
        new: The results of the replica `new`.
        old_texts: The serdes of the old topology's sinks.
        new_texts: The serdes of the new topology's sinks.
    """
    olds, news = _by_label(old), _by_label(new)
    found: dict[str, Compared] = {}
    for label in sorted({*olds, *news}):
        mine, other = olds.get(label, []), news.get(label, [])
        tally, differences = compared_results(
            _results(mine, old_texts), _results(other, new_texts), MOST_EXAMPLES
        )
        found[label] = Compared(tally, tuple(Example.of(batch, each) for each in differences))
    return found


def _by_label(tables: Tables) -> Mapping[str, list[tuple[ResultSource, pa.Table]]]:
    found: dict[str, list[tuple[ResultSource, pa.Table]]] = {}
    for source, table in tables:
        found.setdefault(source.label, []).append((source, table))
    return found


def _results(tables: Tables, texts: Texts) -> Iterator[Result]:
    for source, table in tables:
        show_key, show_value = texts.of(source)
        others = [name for name in table.column_names if name not in ("key", "value", *_HEADERS)]
        columns = [table.column(name).to_pylist() for name in others]
        headers = [_headers(each) for each in table.column("headers").to_pylist()]
        pairs = zip(table.column("key").to_pylist(), table.column("value").to_pylist(), strict=True)
        for number, (key, value) in enumerate(pairs):
            rest = tuple(column[number] for column in columns)
            content = (repr(key), repr(value), headers[number], *rest)
            yield Result(show_key(key), show_value(value), content)


def _headers(found: object) -> str:
    if not isinstance(found, list):
        return repr(found or ())
    pairs = [(each["key"], each["value"]) for each in found]
    return repr(tuple(pair for pair in pairs if not str(pair[0]).startswith(_OWN_HEADERS)))
