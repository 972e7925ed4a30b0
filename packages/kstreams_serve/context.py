"""What all routes of a server share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kstreams_serve.authentication import Doors
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
    """What routes are made of: each package of routes takes it, and gives its `Action`s.

    Attributes:
        apps: By name; what a request names is looked up here, and never joined to a path.
        limits: Of the server.
        doors: Knows the tokens, and lets browsers in.
        cursors: Makes cursors, which live as long as the server.
        streams: Counts the followers, of all routes together.
        lag: Knows how far apps are behind, if somebody asks the topics.
        code_runs: Runs code of apps, in processes of their own.
        times: Counts requests and how long they take.
        allows_actions: Whether orders are taken.
        topics: Reads topics, if the server knows where they are.
    """

    apps: Mapping[str, ServedApp]
    limits: Limits
    doors: Doors
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
            Problem: There is none of this name, or nothing can have it.
        """
        found = self.apps.get(name)
        if found is None:
            check_name("the app", name)
            raise Problem(404, "there is no app of this name here")
        return found
