"""The contents of each page, also for apps with little data, and by role."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from devtools.showcase import Showcase
from kstreams.batch.report import AppState
from kstreams.checkpoint.pause import pause
from kstreams.clock import SystemClock
from kstreams_cli.program import PROGRAM
from kstreams_serve.pages.site import Site
from kstreams_serve.roles import Role
from tests.support.servers.query_server import SCRAPER, TOKEN, VIEWER, Served, context_of
from tests.support.servers.showcase_pages import (
    MOST_BYTES,
    html,
    paths_of,
    refused_paths,
    showcase,
    showing,
)


def test_each_page_has_title_navigation_and_labels_for_screen_readers(
    app: Showcase, served: Served
) -> None:
    for name, path in paths_of(app).items():
        page = html(served, path, status=404 if name == "no key" else 200)
        assert len(page.all("h1")) == 1, name
        assert page.one("html").attributes["lang"] == "en"
        assert page.all("title")[0].text.endswith("kstreams")
        if path != "/":
            assert page.all("a", aria_current="page"), name
        ids = [each.attributes["id"] for each in page.elements if "id" in each.attributes]
        assert len(set(ids)) == len(ids), name
        named = {each.attributes.get("for") for each in page.all("label")}
        for field in page.all("input") + page.all("select"):
            hidden = field.attributes.get("type") in ("hidden", "checkbox")
            assert hidden or "hidden" in field.attributes or field.attributes["id"] in named, name


def test_pages_load_only_resources_of_the_server(app: Showcase, served: Served) -> None:
    asked = set()
    for path in [*paths_of(app).values(), "/login"]:
        answer = served.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        page = html(served, path, status=answer.status)
        links = [each.attributes["href"] for each in page.all("link")]
        scripts = [each.attributes["src"] for each in page.all("script")]
        assert not any("style" in each.attributes for each in page.elements)
        assert not any(name.startswith("on") for e in page.elements for name in e.attributes)
        asked |= {*links, *scripts}
        hrefs = [each.attributes["href"] for each in page.all("a")]
        assert all(not href or href.startswith(("/", "#")) for href in hrefs)
    assert len(asked) == 3
    for path in asked:
        answer = served.get(path, token=None)
        assert (answer.status, "immutable" in answer.headers["cache-control"]) == (200, True)


def test_pages_show_all_data_of_an_app(app: Showcase, served: Served) -> None:
    paths, names = paths_of(app), app.names
    overview = html(served, paths["overview"])
    assert overview.one("span", role="status").text == "running"
    assert "Partition lines/3 holds" in overview.text
    assert re.search("Node count takes [45]. % of the processing time", overview.text)
    drawn = overview.one("div", class_="graph").text
    assert all(name in drawn for name in (names.source, names.split, names.count, names.counts))
    listed = overview.one("div", class_="outline").text
    assert all(name in listed for name in (names.source, names.split, names.count, names.counts))
    assert "by-word/2" in html(served, paths["tasks"]).text
    batch = html(served, paths["batch"]).text
    assert all(word in batch for word in ("publish", "by-word/3", "lines/1", names.worker))
    assert html(served, f"{paths['batch'].partition('=')[0]}=lines&number=4").text.count("lines/3@")
    assert html(served, paths["node"]).one("h1").text == "count"
    assert names.savepoint in html(served, paths["versions"]).text
    dropped = html(served, paths["dropped"])
    assert (names.reason in dropped.text, "lines/3@" in dropped.text) == (True, True)
    errors = html(served, paths["errors"])
    assert names.error in errors.one("pre", class_="raw").text
    assert "kstreams trace word-count lines/3@1902" in errors.text


def test_store_page_finds_keys_and_reads_earlier_versions(app: Showcase, served: Served) -> None:
    store = paths_of(app)["store"]
    ranged = html(served, f"{store}?start=t&end=u&prefix=&as_of=").rows()
    assert ranged == [[w, str(n)] for w, n in sorted(app._counts.items()) if w[0] == "t"]
    backwards = html(served, f"{store}?prefix=th&reverse=true").rows()
    assert [row[0] for row in backwards] == sorted(
        (word for word in app._counts if word.startswith("th")), reverse=True
    )
    earlier = html(served, f"{store}/key?key=the&as_of={app.names.savepoint}")
    assert int(earlier.one("p", class_="big").text) < app._counts["the"]
    assert earlier.one("option", selected="").text == app.names.savepoint
    assert html(served, f"{store}?start=zz").text.count("No matching rows") == 1
    gone = html(served, f"{store}?as_of=99999", status=410)
    assert "not available" in gone.one("h1").text


def test_next_page_of_rows_has_same_version(app: Showcase, served: Served) -> None:
    windows = paths_of(app)["windows"]
    page = html(served, windows)
    keys = [row[0] for row in page.rows()]
    while more := page.all("a", rel="next"):
        page = html(served, more[0].attributes["href"])
        keys += [row[0] for row in page.rows()]
    assert (set(keys), len(keys) > 50) == (set(app._counts), True)


def test_history_of_a_key_lists_the_batches_that_changed_it(app: Showcase, served: Served) -> None:
    page = html(served, f"{paths_of(app)['store']}/history?key=the")
    rows = page.rows()
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), key=int, reverse=True)
    assert (rows[0][3], rows[-1][2]) == (str(app._counts["the"]), "no such key")
    assert [row[2] for row in rows[:-1]] == [row[3] for row in rows[1:]]
    then = html(served, page.all("a", aria_label=f"As of batch {rows[1][0]}")[0].attributes["href"])
    assert then.one("p", class_="big").text == rows[1][3]


def test_page_of_missing_key_shows_adjacent_keys(app: Showcase, served: Served) -> None:
    page = html(served, f"{paths_of(app)['store']}/key?key=thb", status=404)
    near = [each.text for each in page.all("a", class_="mono")]
    words = sorted(app._counts)
    place = sum(word < "thb" for word in words)
    assert near == words[place - 3 : place + 3]
    assert "no key" not in page.text
    page = html(served, f"{paths_of(app)['overview']}/look?key=the")
    assert re.search("Found in [12] of 2 stores", page.text)


def test_invalid_page_address_returns_html_page_with_error(app: Showcase, served: Served) -> None:
    for name, path in refused_paths(app).items():
        page = html(served, path, status=400 if name == "no sorting" else 404)
        assert page.one("h1").text, name


def test_kstreams_commands_shown_on_pages_exist(app: Showcase, served: Served) -> None:
    shown = {
        each.text
        for name, path in paths_of(app).items()
        for each in html(served, path, status=404 if name == "no key" else 200).all("pre")
        if each.attributes["aria-label"] == "Command" and each.text.startswith("kstreams ")
    }
    assert len(shown) > 8
    for text in shown:
        command: Any = typer.main.get_command(PROGRAM)
        context = click.Context(command)
        words = shlex.split(text)[1:]
        while isinstance(command, click.Group):
            command = command.commands[words.pop(0)]
        command.make_parser(context).parse_args(words)  # raises for unknown options


# ---------------------------------------------------------------- roles


def test_each_page_needs_its_role(app: Showcase, served: Served) -> None:
    actions = [each for each in Site(context_of()).actions() if each.method == "GET"]
    open_ = [each.path for each in actions if each.role is Role.OPEN]
    assert all(path == "/login" or path.startswith("/static/") for path in open_)
    for path in paths_of(app).values():
        answer = served.get(path, token=None)
        assert (answer.status, answer.headers["location"][:12]) == (303, "/login?next=")
        assert html(served, path, status=403, token=SCRAPER).one("h1").text
    for name in ("key", "history", "look", "explain", "letters", "trace", "diff"):
        page = html(served, paths_of(app)[name], status=403, token=VIEWER)
        assert "role data" in page.text


def test_pages_for_user_without_role_data_show_no_keys_values_or_error_texts(
    app: Showcase, served: Served
) -> None:
    secrets = [app.names.error, "fix the processor"]
    pause(app.checkpoint.home, "customer 4711 complained", app.now_ms)
    try:
        for name, path in paths_of(app).items():
            answer = served.get(path, token=VIEWER)
            text = answer.data.decode()
            assert answer.status in (200, 403), name
            assert not any(secret in text for secret in (*secrets, "4711 complained")), name
            assert "/look" not in text
            if name in ("store", "windows"):
                assert "does not give access to keys and values" in text
                assert "<td" not in text
        assert "4711 complained" in html(served, paths_of(app)["overview"]).text
        assert html(served, paths_of(app)["overview"], token=VIEWER).text.count("Paused") == 1
    finally:
        app.checkpoint.home.forget_pause()


# ---------------------------------------------------------------- little or much data


def test_app_without_telemetry_is_shown_by_its_commits(tmp_path: Path) -> None:
    app = showcase(tmp_path, SystemClock().now_ms(), 3, recorded=False)
    with showing(app) as served:
        paths = paths_of(app)
        overview = html(served, paths["overview"]).text
        assert "The topology is not recorded" in overview
        assert "The lag is unknown" in html(served, paths["tasks"]).text
        assert "writes no reports" in html(served, paths["batches"]).text
        assert "The duration is not recorded" in html(served, paths["batch"]).text
        assert "Not recorded" in html(served, paths["dropped"]).text
        assert "Not recorded" in html(served, paths["errors"]).text
        assert html(served, paths["key"]).one("p", class_="big").text


def test_app_without_commits_shows_empty_pages(tmp_path: Path) -> None:
    app = showcase(tmp_path, SystemClock().now_ms(), 0)
    with showing(app) as served:
        app.batch = 0
        for name, path in paths_of(app).items():
            status = 404 if name in ("batch", "node", "key", "no key", "letters") else 200
            status = 410 if name == "diff" else status
            page = html(served, path, status=status)
            if name == "overview":
                assert "no commit yet" in page.text
            if name == "store":
                assert "The store is empty" in page.text


def test_missing_heartbeat_or_failure_is_shown_first(tmp_path: Path) -> None:
    app = showcase(tmp_path, SystemClock().now_ms(), 2)
    app.beat(AppState.RUNNING, app.now_ms - 60_000)
    with showing(app) as served:
        paths = paths_of(app)
        page = html(served, paths["overview"])
        assert page.one("span", role="status").text == "not responding"
        assert (
            "The app is not responding; its last telemetry" in page.one("ol", class_="worst").text
        )
        app.fail(app.now_ms)
        app.beat(AppState.FAILED)
        served.until(paths["overview"], lambda answer: b"failed</span>" in answer.data)
        errors = html(served, paths["errors"])
        assert "The app has failed." in errors.one("p", class_="band bad").text


@pytest.mark.long
def test_tasks_are_listed_in_pages_of_limited_size(tmp_path: Path) -> None:
    app = showcase(tmp_path, SystemClock().now_ms() + 20_000, 3, partitions=500)
    with showing(app) as served:
        for name, path in paths_of(app).items():
            answer = served.get(path)
            assert len(answer.data) <= MOST_BYTES, name
        tasks = paths_of(app)["tasks"]
        page = html(served, f"{tasks}?sort=lag&page=2")
        assert "1,000 tasks" in page.one("caption").text
        assert len(page.rows()) == 50
        assert page.one("th", aria_sort="descending").text.startswith("Lag")
        assert html(served, f"{tasks}?sort=lag").rows()[0][0] == "lines/499"
        assert len(html(served, f"{tasks}?find=by-word/49").rows()) == 11


def test_page_of_apps_lists_each_app(app: Showcase, served: Served) -> None:
    page = html(served, "/", token=TOKEN)
    assert page.one("h2").text == app.names.app
    assert page.one("h1").text == "Apps"
