"""Views: read an app's stores from outside, while it runs or when it is gone.

`View(app, store)` reads one store at a committed version, from any process that reaches the app's
checkpoint and durable log: it takes no lock and writes nothing there. Ranges are `ViewScan`
iterators; `View.follow` calls back after each commit and returns a `Following`, to stop it. A view
of what `every` or `at_most_every` holds back has `BufferedResult` values. What it looks at may be a
`ViewedApp`, or a `ViewedQuery`, which says what a committed batch is: a `QueryVersion`.

`RemoteView(url, store, token=...)` reads the same over HTTP, from `kstreams serve`.

Example:
    >>> from kstreams import INT64, TEXT, View, timestamped_store
    >>> counts = timestamped_store("counts", key=TEXT, value=INT64)
    >>> View("no-such-app", counts)
    Traceback (most recent call last):
        ...
    kstreams.errors.state.NoCheckpointError: ...
"""

from __future__ import annotations

from kstreams.state.stores.buffered import BufferedResult
from kstreams.views.following import Following
from kstreams.views.place import QueryVersion, ViewedApp, ViewedQuery
from kstreams.views.remote_view import RemoteView
from kstreams.views.scan import ViewScan
from kstreams.views.view import View

__all__ = (
    "BufferedResult",
    "Following",
    "QueryVersion",
    "RemoteView",
    "View",
    "ViewScan",
    "ViewedApp",
    "ViewedQuery",
)
