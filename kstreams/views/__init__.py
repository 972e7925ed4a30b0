"""Views: read an app's stores from any process, while the app runs or after it has stopped.

`View(app, store)` reads one store at a committed version, from any process that reaches the app's
checkpoint and durable log; it takes no lock and writes nothing there. Reads of key ranges return
`KeyScan` iterators with `seek`, other reads of rows `ViewScan` iterators. `View.follow` calls back
after each commit and returns a `Following`, which stops the callbacks; `View.follow_rows` passes
the `RowChanges` of the version to the callback, an iterable of `RowChange`. The values of a view of
results that `every` or `at_most_every` holds back are `BufferedResult` objects. The source of a
view may be a `ViewedApp` or a `ViewedQuery`, which returns its committed batches as `QueryVersion`.

`TopicView(topic, connection)` reads any compacted topic as a table, with the `PartitionProgress` of
each partition. `RemoteView(url, store, token=...)` reads a store over HTTP, from `kstreams serve`.

Example:
    >>> from kstreams import INT64, TEXT, View, timestamped_store
    >>> counts = timestamped_store("counts", key=TEXT, value=INT64)
    >>> View("no-such-app", counts)
    Traceback (most recent call last):
        ...
    kstreams.errors.state.NoCheckpointError: ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams.lazy import lazy_names
from kstreams.state.stores.buffered import BufferedResult
from kstreams.views.commit_callbacks import Following
from kstreams.views.place import QueryVersion, ViewedApp, ViewedQuery
from kstreams.views.row_changes import RowChange, RowChanges
from kstreams.views.scan import KeyScan, ViewScan
from kstreams.views.view import View

if TYPE_CHECKING:
    from kstreams_client.remote_view import RemoteView
    from kstreams_topic_view.topic_settings import PartitionProgress
    from kstreams_topic_view.topic_view import TopicView
else:  # these packages import this one
    __getattr__ = lazy_names(
        __name__,
        {
            "PartitionProgress": "kstreams_topic_view.topic_settings",
            "RemoteView": "kstreams_client.remote_view",
            "TopicView": "kstreams_topic_view.topic_view",
        },
    )

__all__ = (
    "BufferedResult",
    "Following",
    "KeyScan",
    "PartitionProgress",
    "QueryVersion",
    "RemoteView",
    "RowChange",
    "RowChanges",
    "TopicView",
    "View",
    "ViewScan",
    "ViewedApp",
    "ViewedQuery",
)
