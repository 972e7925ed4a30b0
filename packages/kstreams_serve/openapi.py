"""The OpenAPI description of a server's actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kstreams_serve.action import Action
from kstreams_serve.problem_responses import PROBLEM
from kstreams_serve.roles import Role

__all__ = ("openapi",)

_PROBLEM_SCHEMA = {
    "type": "object",
    "description": "RFC 9457, with the class of the library's error as its type.",
    "properties": {
        "status": {"type": "integer"},
        **{name: {"type": "string"} for name in ("title", "type", "detail", "hint", "place")},
    },
    "required": ["status", "title"],
}


def openapi(actions: Sequence[Action]) -> dict[str, Any]:
    """Return the OpenAPI document of actions; actions of web pages are omitted."""
    paths: dict[str, Any] = {}
    for each in actions:
        if not each.page:
            paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    return {
        "openapi": "3.1.0",
        "info": {"title": "kstreams serve", "version": "1"},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": _PROBLEM_SCHEMA},
        },
        "paths": paths,
    }


def _operation(action: Action) -> dict[str, Any]:
    parts = [part[1:-1] for part in action.path.split("/") if part.startswith("{")]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in parts
    ] + [
        {"name": name, "in": "query", "required": name in action.needed, "schema": schema}
        for name, schema in action.query.items()
    ]
    content = {media: {"schema": action.answer or {}} for media in action.media}
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    found: dict[str, Any] = {
        "summary": action.summary,
        "operationId": f"{action.method.lower()}{action.path.translate(_IN_A_NAME)}",
        "parameters": parameters,
        "security": [] if action.role is Role.OPEN else [{"token": []}],
        "description": f"Needs the role {action.role.name.lower()}.",
        "responses": {
            "200": {"description": "The requested data.", "content": content},
            "default": {"description": "A problem.", "content": {PROBLEM: problem}},
        },
    }
    if action.method == "POST":
        schema = {
            "type": "object",
            "properties": dict(action.body),
            "required": [name for name in action.body if name in action.needed],
            "additionalProperties": False,
        }
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        found["requestBody"] = body
    return found


_IN_A_NAME = str.maketrans({"/": "_", "{": "", "}": "", ".": "_"})
