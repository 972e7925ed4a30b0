"""HTTP actions that explain a key's value, and that trace a record."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kstreams.ids import TopicPartition
from kstreams.state.log.fields import MOST
from kstreams_serve.action import Action
from kstreams_serve.context import Context
from kstreams_serve.name_lookup import app_of, store_of
from kstreams_serve.parameters import KEY_FORMATS, Parameters, key_of
from kstreams_serve.problems import Problem
from kstreams_serve.request_bodies import json_answer
from kstreams_serve.roles import Role
from kstreams_serve.served_app import ServedApp, ServedStore

__all__ = ("Explaining", "explanation_of", "trace_of")

_TEXT: Mapping[str, Any] = {"type": "string"}
_WHOLE: Mapping[str, Any] = {"type": "integer", "minimum": 0}
_MOST_TOPIC = 1_000
_STEPS = 100
_MOST_STEPS = 1_000


class Explaining:
    """The actions that replay batches of apps; see `CodeRuns` for their limits.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    def actions(self) -> Sequence[Action]:
        """Return the actions of the routes `explain` and `trace`."""
        explain = {
            "key": _TEXT,
            "key_format": {"type": "string", "enum": list(KEY_FORMATS)},
            "batch": _WHOLE,
            "skip": _WHOLE,
            "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_STEPS},
        }
        trace = {"topic": _TEXT, "partition": _WHOLE, "offset": _WHOLE}
        return (
            Action(
                "GET",
                "/v1/apps/{app}/stores/{store}/explain",
                Role.DATA,
                self.explain,
                explain,
                needed=("key",),
                answer={"type": "object"},
            ),
            Action(
                "GET",
                "/v1/apps/{app}/trace",
                Role.DATA,
                self.trace,
                trace,
                needed=tuple(trace),
                answer={"type": "object"},
            ),
        )

    async def explain(self, request: Request) -> Response:
        """List the batches that changed a key, and replay the last to find the causing records.

        The response is `Explanation.to_json` of `kstreams_explain.explained`.
        """
        given = Parameters.of(
            request.scope["query_string"], ("key", "key_format", "batch", "skip", "limit")
        )
        app, store = await store_of(self._context, request)
        form = given.get("key_format", "text")
        limit = self._context.limits.key_bytes
        key = key_of(store.spec.key, given.required("key"), form, limit)
        batch = given.whole("batch", 0, MOST)
        skip, count = given.whole("skip", 0, MOST) or 0, given.whole("limit", 1, _MOST_STEPS)
        found = await explanation_of(
            self._context, request, app, store, key, batch=batch, skip=skip, limit=count or _STEPS
        )
        return json_answer(found)

    async def trace(self, request: Request) -> Response:
        """Trace a record through the topology by replaying the batch that processed it.

        The response is `Trace.to_json` of `kstreams_explain.traced`.
        """
        given = Parameters.of(request.scope["query_string"], ("topic", "partition", "offset"))
        app = app_of(self._context, request)
        return json_answer(await trace_of(self._context, request, app, given))


async def explanation_of(
    context: Context,
    request: Request,
    app: ServedApp,
    store: ServedStore,
    key: object,
    *,
    batch: int | None,
    skip: int,
    limit: int,
) -> Any:  # noqa: ANN401  # JSON
    """Return `Explanation.to_json` of a key, by a replay of a batch.

    Args:
        context: The shared context of routes.
        request: The request; the replay is killed if its client disconnects.
        app: The app.
        store: The store.
        key: The key.
        batch: The batch to replay; None is the last one that changed the key.
        skip: The number of steps to skip.
        limit: The maximum number of steps.

    Raises:
        Problem: See `CodeRuns.run`.
    """
    return await context.code_runs.run(
        request,
        app.name,
        "explain",
        *("--key-bytes", b64encode(store.spec.key.serialize(key)).decode()),
        *(() if batch is None else ("--batch", str(batch))),
        *("--skip", str(skip), "--limit", str(limit)),
        *("--", app.name, store.spec.name),
    )


async def trace_of(context: Context, request: Request, app: ServedApp, given: Parameters) -> Any:  # noqa: ANN401  # JSON
    """Return `Trace.to_json` of a record, by a replay of a batch.

    Args:
        context: The shared context of routes.
        request: The request; the replay is killed if its client disconnects.
        app: The app.
        given: The parameters `topic`, `partition` and `offset`.

    Raises:
        Problem: The parameters do not name a record; or see `CodeRuns.run`.
    """
    topic = given.required("topic")
    partition, offset = given.whole("partition", 0, MOST), given.whole("offset", 0, MOST)
    if partition is None or offset is None or not 0 < len(topic) <= _MOST_TOPIC:
        raise Problem(
            400, f"a record needs topic (1 to {_MOST_TOPIC} characters), partition and offset"
        )
    place = f"{TopicPartition(topic, partition)}@{offset}"
    return await context.code_runs.run(request, app.name, "trace", "--", app.name, place)
