"""A server in a thread over an app that never ran, and its parsed pages."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn

from devtools.showcase import LETTERS, Showcase
from devtools.shown_runs import shown_runs
from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams_serve.served_app import AppSource
from kstreams_serve.server import Server
from kstreams_serve.settings import ServeSettings
from tests.support.servers.query_server import TOKENS, Served

MOST_BYTES = 60_000
"""Tags and attributes that every page may have."""

VOID = {"meta", "link", "input", "br"}


@dataclass
class Element:
    """An element and its text."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    cells: list[Element] = field(default_factory=list)


@dataclass
class Html(HTMLParser):
    """A parsed page."""

    data: bytes
    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[Element] = []
        self.text = ""
        self.feed(self.data.decode())
        assert not self._open, [each.tag for each in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = Element(tag, {name: value or "" for name, value in attrs})
        assert len(found.attributes) == len(attrs), "an attribute is there twice"
        self.elements.append(found)
        if tag in ("td", "th"):
            self._open[-1].cells.append(found)
        if tag not in VOID:
            self._open.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        for each in self._open:
            each.text += data

    def rows(self) -> list[list[str]]:
        """Return the texts of the cells of all rows, without headers."""
        rows = [[cell.text.strip() for cell in row.cells] for row in self.all("tr", role="row")]
        return rows or [[cell.text.strip() for cell in row.cells] for row in self.all("tr")[1:]]

    def all(self, tag: str, **attributes: str) -> list[Element]:
        named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            each
            for each in self.elements
            if each.tag == tag and named.items() <= each.attributes.items()
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found


def html(served: Served, path: str, *, status: int = 200, token: str | None = None) -> Html:
    """Return a parsed page."""
    given = {} if token is None else {"token": token}
    answer = served.get(path, **given)
    assert (answer.status, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    return Html(answer.data)


def paths_of(app: Showcase) -> dict[str, str]:
    """Return each page of an app, by a name."""
    names = app.names
    base = f"/apps/{quote(names.app, safe='')}"
    store = f"{base}/stores/{quote(names.counts, safe='')}"
    word = quote(names.words[0], safe="")
    batch = f"{base}/batch?query={quote(app.query, safe='')}&number"
    return {
        "apps": "/",
        "overview": base,
        "node": f"{base}/node?name={quote(names.count, safe='')}",
        "tasks": f"{base}/tasks",
        "batches": f"{base}/batches",
        "batch": f"{batch}={app.batch}",
        "stores": f"{base}/stores",
        "store": store,
        "windows": f"{base}/stores/{quote(names.windows, safe='')}",
        "key": f"{store}/key?key={word}",
        "history": f"{store}/history?key={word}",
        "no key": f"{store}/key?key=nowhere",
        "look": f"{base}/look?key={word}",
        "diff": f"{store}/diff?before=0",
        "explain": f"{store}/explain?key={word}",
        "dropped": f"{base}/dropped",
        "letters": f"{base}/letters?topic={LETTERS}",
        "trace": f"{base}/trace?topic=lines&partition=3&offset=1902",
        "ask for a trace": f"{base}/trace",
        "errors": f"{base}/errors",
        "versions": f"{base}/versions",
        "forecast": f"{base}/forecast",
    }


def refused_paths(app: Showcase) -> dict[str, str]:
    """Return invalid addresses."""
    base = f"/apps/{quote(app.names.app, safe='')}"
    return {
        "no app": "/apps/nowhere",
        "no store": f"{base}/stores/nowhere",
        "no letters": f"{base}/letters?topic=lines",
        "no batch": f"{base}/batch?query={quote(app.query, safe='')}&number=99999",
        "no node": f"{base}/node?name=nowhere",
        "no sorting": f"{base}/tasks?sort=nowhere",
    }


def server_of(*apps: Showcase, topics: bool = True, **settings: Any) -> Server:
    """Return a server of apps, with the topics of the first."""
    connection = apps[0].connection if topics else None
    sources = [
        AppSource(checkpoint_of(app.path), lambda _, name, app=app: app.specs[name], code=())  # type: ignore[misc]
        for app in apps
    ]
    return Server(ServeSettings(TOKENS, port=0, **settings), sources, connection)


@contextmanager
def showing(*apps: Showcase, topics: bool = True, **settings: Any) -> Iterator[Served]:
    """Serve apps, with the topics of the first and with simulated replays of its batches."""
    server = server_of(*apps, topics=topics, **settings)
    runner = uvicorn.Server(server.config)
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [server.socket]})
    thread.start()
    try:
        with shown_runs(apps[0]):
            yield Served(server, server.socket.getsockname()[1])
    finally:
        runner.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def showcase(path: Path, now_ms: int, batches: int = 6, **more: object) -> Showcase:
    """Return an app that has committed batches, and failed before."""
    app = Showcase(path, now_ms, **more)  # type: ignore[arg-type]
    if batches:
        app.run(batches)
        app.set_aside(3)
    return app
