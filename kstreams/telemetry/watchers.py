"""Who watches an app, as its settings say."""

from __future__ import annotations

from collections.abc import Callable

from kstreams.checkpoint.app_settings import AppSettings
from kstreams.checkpoint.pause import Pause
from kstreams.clock import Clock
from kstreams.errors import PluginError
from kstreams.telemetry.recorder import Recorder
from kstreams.telemetry.watching import Watcher, Watchers

__all__ = ("watchers_of",)


def watchers_of(
    settings: AppSettings, run: str, clock: Clock, paused: Callable[[], Pause | None]
) -> Watchers:
    """Return an app's watchers.

    Args:
        settings: The app's.
        run: Id of its driver.
        clock: Its clock.
        paused: Returns why the app plans nothing; None where it is not paused.

    Raises:
        PluginError: OpenTelemetry is to be told, and is not installed.
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
        try:
            from kstreams.telemetry.otel import OtelWatcher  # noqa: PLC0415  # needs the extra
        except ImportError as exc:
            raise PluginError(
                f"OpenTelemetry cannot be told: {exc}", hint="pip install 'kstreams-spark[otel]'."
            ) from exc
        found.append(OtelWatcher(settings.app_id, clock))
    return Watchers(found)
