"""The selected rows of a request, and the position of the next page."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kstreams.quoting import repr_of
from kstreams.serde.base import Serde
from kstreams.state.log.fields import MOST
from kstreams.state.stores.kind import Times
from kstreams.views.store_reads import StoreReads
from kstreams_admin.flat_rows import key_serde, lies_by_key, rows_looked_at
from kstreams_serve.cursors import Cursors
from kstreams_serve.paging import OpenRows
from kstreams_serve.parameters import Parameters, base64_bytes, key_of
from kstreams_serve.pinned_version import PinnedStores
from kstreams_serve.problems import Problem
from kstreams_serve.version_parameters import NEWEST, AsOf, as_of_in

__all__ = ("RowQuery",)

_CHOICES = ("start", "end", "prefix", "from", "to", "reverse", "key_format")
_Row = tuple[Any, ...]


@dataclass(frozen=True)
class RowQuery:
    """The rows of one store that a request and its cursors select.

    If rows are in the order of their keys, a next page starts at the last key of the previous page.
    Otherwise, and in reverse, the next page continues with the open rows of the previous page, or
    reads rows from the start up to the same position.

    Attributes:
        place: The names of the app and the store.
        choices: The parameters that select rows, as texts.
        as_of: The version.
        epoch: The epoch of a cursor's versions; None without a cursor.
        last_key: The bytes of the first key of a next page.
        skip: The number of rows to skip at the start of a next page.
        name: The name under which `OpenScans` keeps the rows.
        key_bytes: The maximum bytes of a key.
    """

    place: tuple[str, str]
    choices: Mapping[str, str]
    as_of: AsOf
    key_bytes: int
    epoch: str | None = None
    last_key: bytes | None = None
    skip: int = 0
    name: str = ""

    @classmethod
    def of(
        cls, given: Parameters, cursors: Cursors, place: tuple[str, str], key_bytes: int
    ) -> RowQuery:
        """Parse the parameters of a request, or the cursor that they contain.

        Args:
            given: The parameters.
            cursors: Reads cursors.
            place: The names of the app and the store.
            key_bytes: The maximum bytes of a key.

        Raises:
            Problem: The request is invalid.
        """
        given.flag("reverse")
        choices = {name: given[name] for name in _CHOICES if name in given}
        as_of = as_of_in(given)
        cursor = given.get("cursor")
        if cursor is None:
            return cls(place, choices, as_of, key_bytes, name=secrets.token_hex(8))
        found = cursors.read(cursor)
        if [*place] != found.items("p") or choices or as_of != NEWEST:
            raise Problem(
                400, "cursor belongs to another store, or is given with parameters other than limit"
            )
        last = found.text("k")
        return cls(
            place,
            found.mapping("q"),
            as_of_in({"as_of": found.anything("v")}),
            key_bytes,
            epoch=found.text("l"),
            last_key=base64_bytes(last) if last else None,
            skip=found.integer("n"),
            name=found.text("i"),
        )

    @property
    def reverse(self) -> bool:
        """Whether the rows come from the last to the first."""
        return self.choices.get("reverse") == "true"

    def rows(self, reads: StoreReads[Any]) -> OpenRows:
        """Return the rows, including rows that the page skips.

        Raises:
            Problem: The keys or times of the request are invalid for the store.
            StoreKindError: The store kind has no readable rows, or no times.
        """
        serde = key_serde(reads)
        start, end = self._key(serde, "start"), self._key(serde, "end")
        prefix = self._prefix(serde)
        by_key = self._by_key(reads)
        if self.last_key is not None:
            start = serde.ordered.deserialize(self.last_key)
        elif prefix and by_key and start is None:
            with suppress(Exception):  # a part of a key need not be one: all are looked at then
                start = serde.ordered.deserialize(prefix)
        found = rows_looked_at(reads, start, end, times=self._times(), reverse=self.reverse)
        if prefix is not None:
            found = _beginning(found, serde, prefix, ends=by_key)
        return OpenRows(found, serde.ordered.serialize)

    def after(
        self, reads: StoreReads[Any], rows: OpenRows, pinned: PinnedStores
    ) -> dict[str, object]:
        """Return the content of the cursor of the next page."""
        by_key = self._by_key(reads) and rows.last is not None
        version = self.as_of.version
        return {
            "p": self.place,
            "q": dict(self.choices),
            "v": version if isinstance(version, str) else pinned.batch,
            "l": pinned.epoch,
            "k": b64encode(rows.last or b"").decode() if by_key else "",
            "n": rows.same if by_key else rows.looked,
            "i": self.name,
        }

    def _by_key(self, reads: StoreReads[Any]) -> bool:
        return lies_by_key(reads) and not self.reverse

    def _key(self, serde: Serde[Any], name: str) -> object:
        text = self.choices.get(name)
        if text is None:
            return None
        return key_of(serde, text, self.choices.get("key_format", "text"), self.key_bytes)

    def _times(self) -> Times:
        given = Parameters(self.choices)
        return given.whole("from", -MOST, MOST), given.whole("to", -MOST, MOST)

    def _prefix(self, serde: Serde[Any]) -> bytes | None:
        text = self.choices.get("prefix")
        if text is None:
            return None
        form = self.choices.get("key_format", "text")
        if form == "base64":
            try:
                return base64_bytes(text)
            except ValueError as exc:
                raise Problem(400, f"prefix is {repr_of(text, 40)}; expected base64") from exc
        if serde.type_token not in (str, bytes) or serde.ordered is not serde:
            raise Problem(400, f"prefix cannot be {form}: keys of serde {serde.name} are not text",
                          hint="give the first bytes, with key_format=base64.")  # fmt: skip
        return serde.serialize(key_of(serde, text, form, self.key_bytes))


def _beginning(
    rows: Iterator[_Row | None], serde: Serde[Any], prefix: bytes, *, ends: bool
) -> Iterator[_Row | None]:
    """Yield rows whose keys begin with a prefix, and None for other rows.

    Args:
        rows: The rows.
        serde: The serde of their keys.
        prefix: The prefix of the keys' ordered bytes.
        ends: Whether rows are ordered by key, so that iteration ends after the prefix.
    """
    ordered = serde.ordered.serialize
    for row in rows:
        data = b"" if row is None else ordered(row[0])
        if row is not None and data.startswith(prefix):
            yield row
        elif ends and data > prefix:
            return
        else:
            yield None
