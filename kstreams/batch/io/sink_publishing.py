"""The driver's side of sinks other than topics."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from kstreams.errors import KStreamsError
from kstreams.sink import CommitId, Sink
from kstreams.state.log.receipts import Receipts

__all__ = ("prepare_sinks", "publish_receipts")

_LOG = logging.getLogger(__name__)


def prepare_sinks(sinks: Mapping[str, Sink[Any, Any]]) -> None:
    """Call `Sink.prepare` of each sink before the first batch of a run.

    Args:
        sinks: The sinks by node.

    Raises:
        SinkUnavailableError, SinkError: As for `Sink.prepare`; the error names the node.
    """
    for name, sink in sinks.items():
        try:
            sink.prepare()
        except KStreamsError as exc:
            raise exc.at(node=name, target=sink.label) from exc.__cause__


def publish_receipts(sinks: Mapping[str, Sink[Any, Any]], found: Sequence[Receipts]) -> None:
    """Publish the staged results of a committed batch; may be repeated.

    Args:
        sinks: The sinks by node; a removed sink publishes nothing.
        found: The receipts of the commit.

    Raises:
        SinkUnavailableError, SinkError: As for `Sink.publish`; the error names the node.
    """
    by_sink: dict[str, dict[CommitId, Sequence[str]]] = {}
    for each in found:
        by_sink.setdefault(each.commit.sink, {})[each.commit] = each.names
    for name, receipts in by_sink.items():
        sink = sinks.get(name)
        if sink is None:
            _LOG.warning(
                "sink %r no longer exists: its staged results are not published: %s",
                name,
                ", ".join(map(str, receipts)),
            )
            continue
        try:
            sink.publish(receipts)
        except KStreamsError as exc:
            raise exc.at(node=name, target=sink.label) from exc.__cause__
