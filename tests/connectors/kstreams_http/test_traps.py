"""The common sink tests on an HTTP server."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote

import pytest

from kstreams.sinks import Sink
from kstreams_http import HttpPost
from tests.connectors.kstreams_http.test_post import Receiver
from tests.support.sinks.common_sink_tests import SECRET, Address, SinkTraps, address_of

pytestmark = pytest.mark.connectors


class TestPost(SinkTraps):
    bad: ClassVar[Mapping[str, object]] = {
        "refused by the server": 7_777,
        "of no form in JSON": math.nan,
        "of another type": object(),
    }
    keeps_last = False
    at_least_once = True

    @pytest.fixture(autouse=True)
    def _place(self) -> Iterator[None]:
        self.receiver = Receiver()
        self.receiver.refuses = [{"k": f"b{n}", "n": 7_777} for n in range(3)]
        yield
        self.receiver.close()

    def address(self) -> Address:
        return address_of(self.receiver.url)

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"http://{address[0]}:{address[1]}/in"
        return HttpPost(url, body=_body, give_up_after=give_up_after)

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"http://app:{quote(SECRET, safe='')}@{address[0]}:{address[1]}/in"
        return HttpPost(url, body=_body, headers={"X-Key": SECRET}, give_up_after=give_up_after)

    def seen(self) -> Iterable[tuple[str, Any]]:
        return list({name: (body["k"], body["n"]) for name, body in self.receiver.got}.values())


def _body(key: str, value: Any) -> Any:
    return {"k": key, "n": value}
