"""Create the watchers that an app's settings enable."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from kstreams.checkpoint.pause import Pause
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.clock import Clock
from kstreams.errors import PluginError
from kstreams.plugins import load_plugin
from kstreams.telemetry.recorder import Recorder
from kstreams.telemetry.watching import Watcher, Watchers

__all__ = ("watchers_of",)


def watchers_of(
    settings: AppSettings, run: str, clock: Clock, paused: Callable[[], Pause | None]
) -> Watchers:
    """Return the watchers of an app.

    Args:
        settings: The settings of the app.
        run: Id of the driver.
        clock: The clock of the app.
        paused: Returns the pause of the app; None if it is not paused.

    Raises:
        PluginError: The settings enable OpenTelemetry, and it is not installed.
    """
    found: list[Watcher] = []
    telemetry = settings.telemetry
    if telemetry.files:
        recorder = Recorder(
            settings.checkpoint,
            app=settings.app_id,
            run=run,
            clock=clock,
            texts=telemetry.texts,
            paused=paused,
        )
        found.append(recorder)
    if telemetry.otel:
        found.append(_otel_watcher(settings.app_id, clock))
    return Watchers(found)


def _otel_watcher(app: str, clock: Clock) -> Watcher:
    try:
        make = cast("Callable[[str, Clock], Watcher]", load_plugin("kstreams.watchers", "otel"))
    except ImportError as exc:
        raise PluginError(
            f"OpenTelemetry is not installed: {exc}", hint="pip install 'kstreams-spark[otel]'."
        ) from exc
    return make(app, clock)
