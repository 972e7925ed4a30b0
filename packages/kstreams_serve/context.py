"""The shared context of a server's routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kstreams.quoting import repr_of
from kstreams_serve.authentication import Authenticator
from kstreams_serve.code_runs import CodeRuns
from kstreams_serve.cursors import Cursors
from kstreams_serve.metrics import LagWatch
from kstreams_serve.parameters import check_name
from kstreams_serve.problems import Problem
from kstreams_serve.request_times import RequestTimes
from kstreams_serve.served_app import ServedApp
from kstreams_serve.settings import Limits
from kstreams_serve.streams import Streams
from kstreams_serve.topic_reads import TopicReads

__all__ = ("Context",)


@dataclass(frozen=True)
class Context:
    """The shared objects of routes: each package of routes creates its `Action`s from them.

    Attributes:
        apps: The apps by name; a name in a request is looked up here, and never joined to a path.
        limits: The limits of the server.
        authenticator: Checks tokens and cookies.
        cursors: Creates cursors, which are valid until the server stops.
        streams: Counts the followers of all routes.
        lag: Measures the lag of apps, if the server reads the topics.
        code_runs: Runs the code of apps in separate processes.
        times: Counts and times requests.
        allows_actions: Whether commands are accepted.
        topics: Reads topics, if the server has their connection.
    """

    apps: Mapping[str, ServedApp]
    limits: Limits
    authenticator: Authenticator
    cursors: Cursors
    streams: Streams
    lag: LagWatch | None = None
    code_runs: CodeRuns = field(default_factory=CodeRuns)
    times: RequestTimes = field(default_factory=RequestTimes)
    allows_actions: bool = False
    topics: TopicReads | None = None

    def app(self, name: str) -> ServedApp:
        """Return an app.

        Raises:
            Problem: No app has this name, or the name is invalid.
        """
        found = self.apps.get(name)
        if found is None:
            check_name("the app", name)
            raise Problem(
                404,
                f"the server has no app {repr_of(name, 80)}",
                hint="GET /v1/apps lists its apps.",
            )
        return found
