"""Which rows a request wants, and where the next page goes on."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from kstreams.serde.base import Serde
from kstreams.serve.as_of import as_of_in
from kstreams.serve.pages import Cursors, Page
from kstreams.serve.parameters import Parameters, base64_bytes, key_of
from kstreams.serve.problems import Problem
from kstreams.state.stores.kind import StoreKind
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.flat_rows import key_serde, rows_of
from kstreams.views.store_reads import StoreReads

__all__ = ("RowQuery",)

_CHOICES = ("start", "end", "prefix", "reverse", "key_format")
_Row = tuple[Any, ...]


class RowQuery:
    """The rows of one store that a request, and those by its cursors, go through.

    Where rows lie in the order of their keys a next page begins at the last key; elsewhere, and
    backwards, at the same row counted from the first.

    Args:
        choices: The parameters that choose rows, as texts.
        as_of: The version; None is the newest.
        place: App and store, that a cursor is good for.
        last_key: Bytes of the key to begin at, of a next page.
        skip: How many rows to pass over there.
        is_next: Whether a cursor was given.
        key_bytes: The longest key.
    """

    def __init__(
        self,
        choices: dict[str, str],
        as_of: int | str | None,
        place: tuple[str, str],
        *,
        last_key: bytes | None,
        skip: int,
        is_next: bool,
        key_bytes: int,
    ) -> None:
        self._choices = choices
        self.as_of = as_of
        self.skip = skip
        self.is_next = is_next
        self._place = place
        self._last_key = last_key
        self._key_bytes = key_bytes
        self._seen: bytes | None = None
        self._same = 0

    @classmethod
    def of(
        cls, given: Parameters, cursors: Cursors, app: str, spec: StoreSpec[Any], key_bytes: int
    ) -> RowQuery:
        """Return what a request asks for.

        Raises:
            Problem: That means nothing.
        """
        given.flag("reverse")
        choices = {name: text for name in _CHOICES if (text := given.text(name)) is not None}
        cursor = given.text("cursor")
        place = (app, spec.name)
        if cursor is None:
            return cls(choices, as_of_in(given), place, last_key=None, skip=0, is_next=False,
                       key_bytes=key_bytes)  # fmt: skip
        content = cursors.read(cursor)
        if [*place] != content["p"] or choices or given.text("as_of") is not None:
            raise Problem(400, "a cursor goes on with its own request: give the limit beside it")
        last = content["k"]
        return cls(
            content["q"],
            content["v"],
            place,
            last_key=None if last is None else base64_bytes(last),
            skip=content["n"],
            is_next=True,
            key_bytes=key_bytes,
        )

    def noting(self, reads: StoreReads[Any]) -> Iterator[_Row]:
        """Return the rows; what was taken of them is noted when the next is asked for."""
        serde = key_serde(reads)
        reverse = self._choices.get("reverse") == "true"
        start, end = self._key(serde, "start"), self._key(serde, "end")
        prefix = self._prefix(serde)
        if prefix is not None and start is None:
            start = serde.deserialize(prefix) if not reverse and prefix else None
        self._by_key = type(reads.spec.kind).order is StoreKind.order and not reverse
        if self._last_key is not None:
            start = serde.deserialize(self._last_key)
        return self._noted(rows_of(reads, start, end, reverse=reverse), serde, prefix)

    def _noted(
        self, rows: Iterator[_Row], serde: Serde[Any], prefix: bytes | None
    ) -> Iterator[_Row]:
        ordered = serde.ordered.serialize
        for row in rows:
            data = ordered(row[0])
            if prefix is not None and not data.startswith(prefix):
                if self._by_key and data > prefix:
                    return
                continue
            yield row
            self._same = self._same + 1 if data == self._seen else 1
            self._seen = data

    def after(self, page: Page, batch: int | None) -> dict[str, object]:
        """Return what a cursor has to say for the next page."""
        by_key = self._by_key and self._seen is not None
        return {
            "p": self._place,
            "v": self.as_of if isinstance(self.as_of, str) else batch,
            "q": self._choices,
            "k": b64encode(self._seen or b"").decode() if by_key else None,
            "n": self._same if by_key else page.taken,
        }

    def _key(self, serde: Serde[Any], name: str) -> object:
        text = self._choices.get(name)
        if text is None:
            return None
        return key_of(serde, text, self._choices.get("key_format", "text"), self._key_bytes)

    def _prefix(self, serde: Serde[Any]) -> bytes | None:
        text = self._choices.get("prefix")
        if text is None:
            return None
        if self._choices.get("key_format") == "base64":
            return base64_bytes(text)
        if serde.type_token not in (str, bytes) or serde.ordered is not serde:
            raise Problem(400, f"keys of serde {serde.name} have no prefix as text",
                          hint="give its bytes, with key_format=base64.")  # fmt: skip
        return serde.serialize(key_of(serde, text, "text", self._key_bytes))
