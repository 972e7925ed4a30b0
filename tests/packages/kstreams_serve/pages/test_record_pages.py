"""Pages of records, versions and costs: dead letters, drops, traces, differences, forecasts."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from devtools.showcase import LETTERS, Names, Showcase
from kstreams.clock import SystemClock
from kstreams_admin.moments import iso
from kstreams_dead_letters.replaying import replay_letters
from kstreams_forecast.app_forecast import Prices, forecast_app
from tests.support.servers.query_server import Served
from tests.support.servers.showcase_pages import (
    MOST_BYTES,
    html,
    paths_of,
    showcase,
    showing,
)


def test_dead_letters_page_shows_origin_and_reason_with_paging(tmp_path: Path) -> None:
    app = showcase(tmp_path, SystemClock().now_ms(), 1)
    app.set_aside(57)
    with showing(app) as served:
        path = paths_of(app)["letters"]
        page = html(served, path)
        assert len(page.data) <= MOST_BYTES
        assert "60 in total" in page.one("caption").text
        record, _, why, key, value, letter = page.rows()[0]
        words = app.names.words
        assert (record.partition("at")[0], app.names.error in why) == ("lines/0@2294", True)
        assert (key, value, letter) == (words[56 % len(words)], f"{key} twelve", "0@59")
        older = html(served, page.one("a", rel="next").attributes["href"])
        places = [row[-1] for row in (*page.rows(), *older.rows())]
        assert places == [f"0@{offset}" for offset in reversed(range(60))]
        assert older.all("a", rel="next") == []
        counted = html(served, f"{path}&count=true").text
        assert "60 skipped: topic 'lines' does not exist" in counted
        app.connection.log().ensure("lines", app.partitions)
        assert "60 would be replayed to lines" in html(served, f"{path}&count=true").text
        replay_letters(app.connection, LETTERS)
        assert "60 skipped: already replayed" in html(served, f"{path}&count=true").text
        assert html(served, path).rows()[0][-1].endswith("replayed")
        for wrong in ("cursor=x", "topic=totals", "count=yes"):
            assert served.get(f"{path.partition('?')[0]}?{wrong}").status in (400, 404)


def test_dead_letters_page_without_topics_says_that_there_are_none(app: Showcase) -> None:
    with showing(app, topics=False) as served:
        page = html(served, paths_of(app)["letters"])
        assert "kstreams serve --connection" in page.text
        assert f"kstreams topics replay {LETTERS} --dry-run" in page.text


def test_page_shows_dropped_records_over_time(app: Showcase, served: Served) -> None:
    path = paths_of(app)["dropped"]
    found = {
        hours: sum(
            int(row[2].replace(",", ""))
            for row in html(served, f"{path}?hours={hours}").rows()
            if row[1] == app.names.reason and len(row) == 5
        )
        for hours in (1, 6, 24)
    }
    assert 0 < found[1] < found[6] <= found[24]
    page = html(served, f"{path}?hours=1")
    figures = page.one("div", aria_label="Dropped, by time").text
    assert (app.names.reason in figures, page.one("a", aria_current="true").text) == (
        True,
        "1 hour",
    )
    assert "expected one of 1, 6, 24, 72" in html(served, f"{path}?hours=2", status=400).text


def test_trace_page_shows_path_of_record_and_has_form(app: Showcase, served: Served) -> None:
    page = html(served, paths_of(app)["trace"])
    assert page.one("h1").text == "Trace of lines/3@1902"
    assert [row[1] for row in page.rows()] == [
        "entered", "left", "entered", "wrote", "left", "dropped",
    ]  # fmt: skip
    assert page.rows()[-1][-1] == app.names.reason
    asked = html(served, paths_of(app)["ask for a trace"])
    assert [each.text for each in asked.all("option")] == ["lines"]
    half = f"{paths_of(app)['ask for a trace']}?topic=lines"
    assert "characters), partition and offset" in html(served, half, status=400).text


def test_store_page_selects_windows_by_time(app: Showcase, served: Served) -> None:
    windows = paths_of(app)["windows"]
    minute = app.now_ms // 60_000 * 60_000
    text = quote(iso(minute).removesuffix("Z"))
    later, earlier = (
        html(served, f"{windows}?{field}={text}&prefix=the") for field in ("since", "until")
    )
    every = html(served, f"{windows}?prefix=the")
    assert len(later.rows()) + len(earlier.rows()) == len(every.rows()) > 0
    assert later.one("input", id="since").attributes["value"] == iso(minute)[:19]
    key = html(served, f"{windows}/key?key=the&since={text}")
    assert len(key.all("input", type="datetime-local")) == 3
    refused = html(served, f"{windows}?since=soon", status=400)
    assert "expected a time in UTC, such as 2026" in refused.text
    both = html(served, f"{windows}?since={text}&from=1", status=400)
    assert "are both given" in both.text
    assert not html(served, paths_of(app)["store"]).all("input", id="since")
    then = iso(app.now_ms - 5_000)
    assert "an earlier version" in html(served, f"{windows}?at={quote(then)}").text


def test_diff_page_shows_the_rows_of_two_versions(app: Showcase, served: Served) -> None:
    path = paths_of(app)["diff"]
    rows = html(served, path).rows()
    assert {row[1] for row in rows} <= set(app._counts)
    after = {row[1]: row[2] for row in rows if row[0] == "+ after"}
    assert after.items() <= {word: str(count) for word, count in app._counts.items()}.items()
    before = {row[1]: row[2] for row in rows if row[0] == "- before"}
    assert before.keys() < after.keys()
    assert len(after) + len(before) == len(rows)
    assert "No changes" in html(served, path.replace("before=0", "before=1&after=1")).text
    asked = html(served, path.partition("?")[0])
    assert [each.attributes["id"] for each in asked.all("select")] == ["before", "after"]
    html(served, path.replace("before=0", "before=99999"), status=410)
    html(served, path.replace("before=0", "cursor=x"), status=400)


def test_pages_of_a_diff_list_each_change_once(tmp_path: Path) -> None:
    names = Names(words=tuple(f"word{n:03}" for n in range(120)))
    app = showcase(tmp_path, SystemClock().now_ms(), 12, names=names)
    with showing(app) as served:
        page = html(served, paths_of(app)["diff"])
        rows = page.rows()
        while more := page.all("a", rel="next"):
            page = html(served, more[0].attributes["href"])
            assert len(page.data) <= MOST_BYTES
            rows += page.rows()
        signs = [(row[0][0], row[1]) for row in rows]
        assert len(signs) == len(set(signs)) > 120
        assert [word for _, word in signs] == sorted(word for _, word in signs)


def test_forecast_page_uses_given_trigger_interval(app: Showcase, served: Served) -> None:
    path = f"{paths_of(app)['overview']}/forecast"
    assert "43,200" in html(served, path).text  # a batch every two seconds
    assert "8,640" in html(served, f"{path}?trigger=10").text
    assert "whole number" in html(served, f"{path}?trigger=0", status=400).text


def test_forecast_page_uses_the_given_prices(app: Showcase, served: Served) -> None:
    path = f"{paths_of(app)['overview']}/forecast"
    shown = forecast_app(app.checkpoint, app.objects, prices=Prices(1_000, 0))
    page = html(served, f"{path}?put_price=1000&storage_price=0")
    assert [each.text for each in page.all("dd")][:3] == [
        f"${shown.puts_dollars_a_day:,.2f}", "$0.00", f"${shown.puts_dollars_a_day:,.2f}",
    ]  # fmt: skip
    assert "--put-price 1000 --storage-price 0" in page.text
    assert "Measure the speed of this server" in page.text
    measured = html(served, f"{path}?measure=true")
    assert "measured when this server read" in measured.text
    assert all(row[3] for row in measured.rows())
    for price in ("-1", "1e9", "x", "1" * 9):
        assert "expected dollars" in html(served, f"{path}?put_price={price}", status=400).text
