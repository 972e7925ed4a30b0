"""docs/limits.md lists every limit of servers and webhooks with its default."""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from datetime import timedelta
from pathlib import Path

from kstreams.intakes import Webhook
from kstreams_serve.settings import Limits

PAGE = (Path(__file__).parents[3] / "docs/limits.md").read_text()
ROWS = {
    name: default.strip()
    for name, default in re.findall(r"^\| `(\w+)` \|([^|]*)\|", PAGE, re.MULTILINE)
}
UNITS = {"KiB": 1024, "MiB": 1024 * 1024, "s": 1}


def test_every_limit_of_requests_is_on_the_page_with_its_default() -> None:
    limits = asdict(Limits())
    assert {name: ROWS.get(name) for name in limits} == {n: str(v) for n, v in limits.items()}


def test_every_limit_of_a_webhook_is_on_the_page_with_its_default() -> None:
    bounds = {
        each.name: each.default
        for each in fields(Webhook)
        if each.name.startswith("max_") or each.name.endswith("_within")
    }
    assert bounds.keys() <= ROWS.keys()
    for name, default in bounds.items():
        number, _, unit = ROWS[name].partition(" ")
        told = int(number) * UNITS.get(unit, 1)
        assert told == (default.total_seconds() if isinstance(default, timedelta) else default)
