"""HTTP actions for health, metrics, apps and stores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kstreams.checkpoint.parameter_notes import recorded_parameters
from kstreams_admin.moments import iso
from kstreams_serve.action import Action
from kstreams_serve.context import Context
from kstreams_serve.exposition import OPENMETRICS, PROMETHEUS, exposition
from kstreams_serve.metrics import Metrics
from kstreams_serve.name_lookup import app_of, store_of
from kstreams_serve.request_bodies import json_answer
from kstreams_serve.roles import Role

__all__ = ("Api",)

_OBJECT = {"type": "object"}


class Api:
    """The actions that show apps and stores, without keys and values.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._metrics = Metrics(context.apps, context.lag, context.times)

    def actions(self) -> Sequence[Action]:
        """Return the actions of the routes for health, metrics, apps and stores."""
        store = "/v1/apps/{app}/stores/{store}"
        plain = (PROMETHEUS, OPENMETRICS)
        return (
            Action("GET", "/health/live", Role.OPEN, self.live, answer=_OBJECT),
            Action("GET", "/health/ready", Role.OPEN, self.ready, answer=_OBJECT),
            Action("GET", "/metrics", Role.METRICS, self.metrics, media=plain),
            Action("GET", "/v1/apps", Role.VIEW, self.apps, answer=_OBJECT),
            Action("GET", "/v1/apps/{app}", Role.VIEW, self.app, answer=_OBJECT),
            Action("GET", store, Role.VIEW, self.store, answer=_OBJECT),
        )

    async def live(self, _: Request) -> Response:
        """Report that the server runs."""
        return json_answer({"live": True})

    async def ready(self, _: Request) -> Response:
        """Report whether each app's checkpoint can be read."""
        for app in self._context.apps.values():
            await asyncio.to_thread(app.schemas)
        return json_answer({"ready": True})

    async def metrics(self, request: Request) -> Response:
        """Return the counts of all apps' last commits for Prometheus, without keys."""
        wanted = "application/openmetrics-text" in request.headers.get("accept", "")
        families = await asyncio.to_thread(lambda: list(self._metrics.families()))
        text = exposition(families, openmetrics=wanted)
        kind = OPENMETRICS if wanted else PROMETHEUS
        return Response(text.encode(), headers={"Content-Type": kind})

    async def apps(self, _: Request) -> Response:
        """List the apps of the server."""
        return json_answer({"apps": [{"app": name} for name in self._context.apps]})

    async def app(self, request: Request) -> Response:
        """Describe an app: its stores, savepoints and queries."""
        app = app_of(self._context, request)

        def described() -> dict[str, Any]:
            checkpoint = app.checkpoint
            stores = [
                {
                    "store": name,
                    **dict(schema),
                    "group": group,
                    "query": checkpoint.query_of_group(group),
                    "partitions": checkpoint.partitions_of(name, group),
                }
                for name, (group, schema) in sorted(app.schemas().items())
            ]
            return {"app": app.name, "stores": stores, "savepoints": app.savepoints()}

        return json_answer(await asyncio.to_thread(described))

    async def store(self, request: Request) -> Response:
        """Describe a store: kind, serdes, routing, and the versions that are retained."""
        app, store = await store_of(self._context, request)
        reader = store.newest
        versions = await asyncio.to_thread(reader.place.batches)
        wall_ms = reader.wall_ms
        return json_answer(
            {
                "app": app.name,
                "store": store.spec.name,
                "schema": store.spec.schema(),
                "parameters": recorded_parameters(app.checkpoint.shape, store.spec.name),
                "partitions": reader.partitions,
                "routing": reader.place.routing(),
                "epoch": reader.epoch,
                "version": reader.version,
                "committed_at": None if wall_ms is None else iso(wall_ms),
                "wall_ms": wall_ms,
                "versions": versions,
            }
        )
