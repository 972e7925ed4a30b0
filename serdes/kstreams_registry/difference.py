"""The difference of two schemas, as text for people."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator

from kstreams.serde import Schema

__all__ = ("difference",)

_SHOWN_LINES = 40


def difference(registered: Schema, own: Schema) -> str:
    """Return the differing lines (`-` registry, `+` program), with one line of context."""
    if registered.kind != own.kind:
        return f"  - {registered.kind}\n  + {own.kind}"
    lines = difflib.unified_diff(_lines(registered), _lines(own), n=1, lineterm="")
    shown = [line for line in lines if not line.startswith(("---", "+++"))]
    if not shown:
        shown = list(_references(registered, own))
    if not shown:
        return "  (the schemas differ only in names of references, documentation or order)"
    rest = [f"... {len(shown) - _SHOWN_LINES} lines more"] if len(shown) > _SHOWN_LINES else []
    return "\n".join(f"  {line}" for line in (*shown[:_SHOWN_LINES], *rest))


def _lines(schema: Schema) -> list[str]:
    if schema.kind == "PROTOBUF":
        return [line.rstrip() for line in schema.text.splitlines() if line.strip()]
    try:
        parsed = json.loads(schema.text)
    except ValueError:
        return schema.text.splitlines()
    return json.dumps(parsed, indent=1, sort_keys=True).splitlines()


def _references(registered: Schema, own: Schema) -> Iterator[str]:
    before = {each.name: each.schema.fingerprint for each in registered.references}
    now = {each.name: each.schema.fingerprint for each in own.references}
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            sign = "-" if name not in now else "+" if name not in before else "!"
            yield f"{sign} reference {name}"
