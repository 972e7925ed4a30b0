"""The page with the forecast of an app's durable log: requests and cost per day, and growth."""

from __future__ import annotations

import re
import shlex
import time
from dataclasses import replace

from kstreams.quoting import repr_of
from kstreams_forecast.app_forecast import AppForecast, Prices, app_restore_speed, forecast_app
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.parameters import Parameters
from kstreams_serve.problems import Problem
from kstreams_serve.served_app import ServedApp

__all__ = ("ForecastPage",)

_MOST_TRIGGER_S = 86_400
_TASKS = 50
_DOLLARS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?")
_MOST_MEASURED = 8 * 1024 * 1024
_SPEED_SECONDS = 600.0
"""The time for which a measured speed is reused, so that repeated requests do not load the server.
"""


class ForecastPage:
    """Creates the page that forecasts storage costs; a request may set a trigger and prices."""

    def __init__(self) -> None:
        self._speeds: dict[str, tuple[float, float | None]] = {}

    async def page(self, visit: Visit, app: ServedApp, _: AppFacts) -> Page:
        """Return the page that forecasts the requests and costs of an app's storage."""
        given = visit.given(("trigger", "put_price", "storage_price", "measure"))
        trigger = given.whole("trigger", 1, _MOST_TRIGGER_S)
        trigger_ms = None if trigger is None else trigger * 1000
        prices = Prices(
            _dollars(given, "put_price", Prices.puts),
            _dollars(given, "storage_price", Prices.storage),
        )
        measure = given.flag("measure")
        made: AppForecast = await app.restoring.result(
            ("forecast", trigger_ms),
            lambda: forecast_app(app.checkpoint, app.objects(), trigger_ms=trigger_ms),
        )
        speed = await self._speed(app) if measure else None
        found = replace(made, prices=prices, speed=speed)
        content = {
            "trigger": trigger,
            "prices": prices,
            "found": found,
            "is_paid": app.checkpoint.home.directory is None,
            "measure": measure,
            "tasks": [(each, found.restore_seconds(each)) for each in found.tasks[:_TASKS]],
            "more": max(0, len(found.tasks) - _TASKS),
            "largest": max((task.size_bytes for task in found.tasks), default=0),
            "command": _command(app.name, trigger, prices),
        }
        return Page("forecast.html", "Forecast", content, tab="Forecast", is_live=False)

    async def _speed(self, app: ServedApp) -> float | None:
        """Return the restore speed of this machine, measured at most every ten minutes."""
        since, speed = self._speeds.get(app.name, (float("-inf"), None))
        if time.monotonic() - since > _SPEED_SECONDS:
            speed = await app.restoring.result(
                ("speed",),
                lambda: app_restore_speed(app.checkpoint, app.objects(), _MOST_MEASURED),
            )
            self._speeds[app.name] = time.monotonic(), speed
        return speed


def _dollars(given: Parameters, name: str, usual: float) -> float:
    text = given.get(name)
    if text is None:
        return usual
    if not _DOLLARS.fullmatch(text):
        raise Problem(400, f"{name} is {repr_of(text, 40)}; expected dollars, such as 0.005")
    return float(text)


def _command(app: str, trigger: int | None, prices: Prices) -> str:
    words = ["kstreams", "forecast", app]
    if trigger is not None:
        words += ["--trigger", f"{trigger}s"]
    if prices.puts != Prices.puts:
        words += ["--put-price", f"{prices.puts:g}"]
    if prices.storage != Prices.storage:
        words += ["--storage-price", f"{prices.storage:g}"]
    return shlex.join(words)
