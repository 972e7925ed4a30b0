"""Find the app and the store that a request path names."""

from __future__ import annotations

from starlette.requests import Request

from kstreams_serve.context import Context
from kstreams_serve.served_app import ServedApp, ServedStore

__all__ = ("app_of", "store_of")


def app_of(context: Context, request: Request) -> ServedApp:
    """Return the app that the request path names.

    Raises:
        Problem: No app has this name.
    """
    return context.app(request.path_params["app"])


async def store_of(context: Context, request: Request) -> tuple[ServedApp, ServedStore]:
    """Return the store that the request path names, and its app.

    Raises:
        Problem: No app or store has this name.
    """
    app = app_of(context, request)
    return app, await app.store(request.path_params["store"])
