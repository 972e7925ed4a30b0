"""Pages in Chromium: accessible, live, without scripts, and with markup in names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Route, expect

from devtools.showcase import Showcase
from kstreams.checkpoint.pause import present_pause
from kstreams.clock import SystemClock
from tests.packages.kstreams_serve.pages.browser_visits import visiting
from tests.packages.kstreams_serve.pages.test_hostile import PAYLOADS, hostile
from tests.support.servers.query_server import ACTING, ACTOR, Served
from tests.support.servers.showcase_pages import paths_of, refused_paths, showcase, showing

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]

_AXE = {"resultTypes": ["violations"]}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Showcase:
    found = showcase(tmp_path_factory.mktemp("app"), SystemClock().now_ms() + 60_000, 12)
    found.fail(found.now_ms - 3_600_000)
    return found


@pytest.fixture(scope="module")
def served(app: Showcase) -> Iterator[Served]:
    with showing(app) as found:
        yield found


@pytest.mark.long
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible(
    browser: Browser, app: Showcase, served: Served, scheme: Literal["light", "dark"], width: int
) -> None:
    axe = Axe()
    with visiting(browser, served, width=width, scheme=scheme) as visitor:
        paths = {**paths_of(app), "login": "/login", "no app": refused_paths(app)["no app"]}
        for name, path in paths.items():
            visitor.go(path)
            found = axe.run(visitor.page, options=_AXE)
            assert found.violations_count == 0, (name, found.generate_report())
            assert not visitor.is_wider_than_the_window(), name
    assert visitor.trouble == []


@pytest.mark.long
def test_live_update_changes_numbers_and_keeps_focus(
    browser: Browser, app: Showcase, served: Served
) -> None:
    with visiting(browser, served) as visitor:
        visitor.go(paths_of(app)["overview"])
        page = visitor.page
        link = page.get_by_role("link", name="trend", exact=True)
        link.focus()
        app.commit(app.now_ms)
        expect(page.locator(".version")).to_contain_text(f"batch {app.batch}")
        expect(link).to_be_focused()
        expect(page.locator("#pulse")).to_contain_text("Live")
    assert visitor.trouble == []


@pytest.mark.long
def test_page_shows_lost_connection_until_it_is_restored(
    browser: Browser, app: Showcase, served: Served
) -> None:
    with visiting(browser, served) as visitor:
        page = visitor.page
        page.route("**/tasks", _without_events)
        visitor.go(paths_of(app)["tasks"])
        expect(page.locator("#lost")).to_contain_text("The server does not respond")
        expect(page.locator("#lost")).to_have_attribute("role", "status")
        page.unroute("**/tasks")
        expect(page.locator("#lost")).to_be_hidden()


def _without_events(route: Route) -> None:
    if "event-stream" in route.request.headers.get("accept", ""):
        route.abort()
    else:
        route.continue_()


@pytest.mark.long
def test_all_page_actions_work_with_keyboard(
    browser: Browser, app: Showcase, served: Served
) -> None:
    with visiting(browser, served) as visitor:
        page = visitor.page
        visitor.go(paths_of(app)["overview"])
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.keyboard.press("/")
        expect(page.locator("#look")).to_be_focused()
        page.keyboard.type("the")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="counts", exact=True).press("Enter")
        expect(page.locator(".big")).to_have_text(f"{app._counts['the']:,}")
        visitor.go(paths_of(app)["tasks"])
        page.get_by_role("link", name="Lag", exact=True).press("Enter")
        expect(page.locator("th[aria-sort=descending]")).to_contain_text("Lag")
        page.get_by_role("button", name="Sign out").press("Enter")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    with visiting(browser, served, width=360) as visitor:
        visitor.go(paths_of(app)["overview"])
        visitor.page.locator(".menu summary").press("Enter")
        visitor.page.locator(".menu").get_by_role("link", name="Versions").press("Enter")
        expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Versions")
    assert visitor.trouble == []


_FOCUS_EARLY = """
document.addEventListener("readystatechange", () => {
  window.early ??= document.querySelector("thead a");
  window.early?.focus();
}, { once: true });
"""
"""Focuses a link after the page is parsed and before its scripts run."""


def test_first_live_update_keeps_focused_link_and_its_focus(
    browser: Browser, app: Showcase, served: Served
) -> None:
    with visiting(browser, served) as visitor:
        visitor.page.add_init_script(_FOCUS_EARLY)
        visitor.go(paths_of(app)["tasks"])
        expect(visitor.page.locator("#pulse")).to_contain_text("Live")
        assert visitor.page.evaluate("window.early.isConnected")
        assert visitor.page.evaluate("document.activeElement === window.early")


@pytest.mark.long
def test_pages_are_complete_without_javascript(
    browser: Browser, app: Showcase, served: Served
) -> None:
    with visiting(browser, served, scripts=False) as visitor:
        page = visitor.page
        for name, path in paths_of(app).items():
            visitor.go(path)
            expect(page.get_by_role("heading", level=1)).to_have_count(1)
            if name == "overview":
                page.get_by_role("link", name="Refresh").click()
                expect(page.locator(".graph")).to_contain_text("split")
        visitor.go(paths_of(app)["store"])
        page.get_by_label("Begins with").fill("th")
        page.get_by_label("Version", exact=True).select_option(app.names.savepoint)
        page.get_by_role("button", name="Show").click()
        expect(page.locator("tbody tr").first).to_contain_text("that")
        page.get_by_label("Key", exact=True).fill("the")
        page.get_by_role("button", name="Look up").last.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("the")


@pytest.mark.long
def test_markup_in_app_data_has_no_effect_in_browser(browser: Browser, tmp_path: Path) -> None:
    split, count, trend, sink, counts, windows = (
        " ".join(PAYLOADS[place::6]).replace("/", "") for place in range(6)
    )  # a name with every payload is longer than a file name may be
    names = replace(
        hostile(" ".join(PAYLOADS[:3])),
        source=PAYLOADS[1],
        split=f"split {split}",
        edge=PAYLOADS[3],
        count=f"count {count}",
        trend=f"trend {trend}",
        sink=f"sink {sink}",
        counts=f"counts {counts}",
        windows=f"windows {windows}",
        reason=" ".join(PAYLOADS),
        worker=" ".join(PAYLOADS),
        error=" ".join(PAYLOADS),
        words=PAYLOADS,
    )
    app = showcase(tmp_path, SystemClock().now_ms() + 60_000, 2, names=names)
    app.fail(app.now_ms)
    with showing(app) as served, visiting(browser, served, width=360) as visitor:
        for name, path in paths_of(app).items():
            visitor.go(path)
            visitor.page.wait_for_timeout(30)
            assert not visitor.is_wider_than_the_window(), name
        store = paths_of(app)["store"]
        for word in PAYLOADS:
            visitor.go(f"{store}/key?{urlencode({'key': word})}")
        assert visitor.trouble == []


@pytest.mark.long
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_buttons_pause_resume_and_make_savepoints_with_the_role_act(
    browser: Browser, app: Showcase, scripts: bool
) -> None:
    with (
        showing(app, **ACTING) as served,
        visiting(browser, served, scripts=scripts, token=ACTOR) as visitor,
    ):
        page, home, paths = visitor.page, app.checkpoint.home, paths_of(app)
        visitor.go(paths["overview"])
        why = page.get_by_label("Reason, shown with the pause")
        why.fill("<b>moving</b>")
        if scripts:
            app.commit(app.now_ms)
            expect(page.locator(".version")).to_contain_text(f"batch {app.batch}")
            expect(why).to_have_value("<b>moving</b>")  # typed text is not lost
        page.get_by_role("button", name="Pause app").click()
        paused = page.locator(".band.warn")
        expect(paused).to_contain_text("<b>moving</b> (by anna")
        assert present_pause(home) is not None
        visitor.go(paths["tasks"])
        paused.get_by_role("button", name="Resume").click()
        expect(page.get_by_role("button", name="Pause app")).to_be_visible()
        assert present_pause(home) is None
        visitor.go(paths["versions"])
        name = f"by hand {scripts}"
        page.get_by_role("button", name="Create savepoint").click()  # not sent: a name is required
        page.get_by_label("Name of the savepoint").fill(name)
        page.get_by_role("button", name="Create savepoint").click()
        expect(page.get_by_role("rowheader", name=name, exact=True)).to_be_visible()
        page.get_by_label("Name of the savepoint").fill(name)
        page.get_by_label("Name of the savepoint").press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Action not possible")
    assert [each for each in visitor.trouble if "status of 409" not in each] == []
