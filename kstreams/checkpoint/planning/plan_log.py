"""The stored plans of a query, by batch number.

Each plan is an object with a conditional create, so only one of two drivers succeeds; a revision is
a separate object. A plan that was stored during a commit is void if another driver's commit won;
the next plan of this batch number is stored under another name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import NamedTuple, TypeVar

from kstreams.checkpoint.planning.plans import Plan, positions_in
from kstreams.errors import FencedError, ObjectMissingError
from kstreams.ids import TopicPartition, text_keys
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.fields import Fields

__all__ = ("PlanLog",)

T = TypeVar("T")
"""The type of an object's parsed content."""

_PLAN = re.compile(r"(\d{12})(?:\.([1-9]\d*))?(?:-([1-9]\d*))?\.json")
_INHERITED = re.compile(r"inherited/(\d{12})-[^/]+\.json")
_BEGIN = "begin.json"
_HINT = (
    "restore it from a copy of the checkpoint. Without a copy, delete all of these plans: the "
    "app then continues after its last commit."
)


class _Version(NamedTuple):
    """The version of a plan among the plans of one batch number; the largest version is valid."""

    voids: int = 0
    revision: int = 0


class PlanLog:
    """The plans of one query, below a prefix of an object store.

    Args:
        objects: The object store.
        prefix: The prefix of the names.
        log_name: The unique name of the query's epoch; see `Checkpoint.log_name`.
    """

    def __init__(self, objects: ObjectStore, prefix: str = "", log_name: str = "") -> None:
        self._objects = objects
        self._prefix = prefix
        self._log_name = log_name

    def begin(self, positions: Mapping[TopicPartition, int], topics: Mapping[str, str]) -> Plan:
        """Store the first positions of a query once; return the stored positions as an empty plan.

        So a source that starts at the end of its topic, or at a time, keeps its position if the app
        is restarted before its first batch.

        Args:
            positions: The first offset of each partition.
            topics: The ids of the topics.

        Raises:
            StateCorruptError: The stored positions are unreadable.
        """
        decided = {"positions": text_keys(positions), "topics": dict(topics)}
        document = seal(decided, self._document(_BEGIN))
        self._objects.put_if_absent(self._prefix + _BEGIN, document.data)
        return self._begun()

    def begun(self) -> Plan | None:
        """Return the stored first positions of the query as an empty plan; None if not stored yet.

        Raises:
            StateCorruptError: The stored positions are unreadable.
        """
        try:
            return self._begun()
        except ObjectMissingError:
            return None

    def _begun(self) -> Plan:
        def parse(fields: Fields, _: str) -> Plan:
            if "positions" in fields:
                topics = fields.texts("topics", {})
                return Plan({}, positions_in(fields), topics=topics)
            return Plan({}, positions_in(Fields({"positions": fields.all()})))

        return self._read(_BEGIN, parse)

    def names(self, number: int) -> list[str]:
        """Return the names of all objects of a batch's plans."""
        return [self._prefix + name for name in self._names(f"{number:012d}")]

    def numbers(self) -> list[int]:
        """Return the batch numbers of the stored plans, ascending."""
        return sorted(self._versions())

    def strays(self) -> list[str]:
        """Return the names of objects below the prefix that are not of the plan log, sorted."""
        return sorted(
            name
            for name in self._names()
            if not (_PLAN.fullmatch(name) or _INHERITED.fullmatch(name) or name == _BEGIN)
        )

    def newest(self) -> Plan | None:
        """Return the newest plan, which has the next positions; None if no plan is stored.

        Raises:
            StateCorruptError: The plan is unreadable.
        """
        versions = self._versions()
        if not versions:
            return None
        number = max(versions)
        return self._plan(number, versions[number])

    def find(self, number: int) -> Plan | None:
        """Return the newest plan of a batch, or None if the batch has no plan.

        Raises:
            StateCorruptError: The plan is unreadable.
        """
        try:
            return self.at(number)
        except ObjectMissingError:
            return None

    def at(self, number: int) -> Plan:
        """Return the newest plan of a batch.

        Raises:
            ObjectMissingError: The batch has no stored plan.
            StateCorruptError: The plan is unreadable.
        """
        return self._plan(number, self._versions(f"{number:012d}").get(number, _Version()))

    def write(self, number: int, plan: Plan) -> Plan:
        """Store the plan of a batch durably; the batch must have no valid plan yet.

        Returns:
            The plan, with its digest.

        Raises:
            FencedError: Another driver has stored a plan of this batch.
        """
        for voids in count():
            made = replace(plan, voids=voids)
            if (recorded := self._create(number, made)) is not None:
                return recorded
            with suppress(ObjectMissingError):  # and it is long forgotten
                if not self._plan(number, _Version(voids)).counts_after(plan.after):
                    continue
            break
        raise self._fenced(f"plan {number}")

    def replace(self, number: int, plan: Plan) -> Plan:
        """Store the next revision of an uncommitted batch's plan, durably.

        The previous revision stays unchanged. So if two drivers find the same batch too large, only
        one driver succeeds, and a plan is never half-written.

        Args:
            number: The number of the batch.
            plan: The next revision.

        Returns:
            The plan with its digest.

        Raises:
            FencedError: Another driver has written this revision.
        """
        recorded = self._create(number, plan)
        if recorded is None:
            raise self._fenced(f"revision {plan.revision} of plan {number}")
        return recorded

    def _create(self, number: int, plan: Plan) -> Plan | None:
        """Create the object of a plan; return the plan with its digest, or None if it exists."""
        name = _name(number, _Version(plan.voids, plan.revision))
        document = seal(plan.to_json(), self._document(name))
        if not self._objects.put_if_absent(self._prefix + name, document.data):
            return None
        return replace(plan, digest=document.digest)

    def _fenced(self, what: str) -> FencedError:
        return FencedError(
            f"{what} of {self._objects} was written by another driver",
            hint="two apps run on one checkpoint: the newer one continues; stop this one.",
        )

    def inherit(self, number: int, run: str) -> None:
        """Store a note that a driver is about to run a batch that another driver has planned.

        Args:
            number: The number of the batch.
            run: The id of the driver.
        """
        self._objects.put_if_absent(f"{self._prefix}{_inherited(number, run)}", b"{}")

    def settle(self, number: int, run: str) -> None:
        """Remove the note of `inherit` after the batch is committed."""
        self._objects.delete([f"{self._prefix}{_inherited(number, run)}"])

    def inherited(self) -> set[int]:
        """Return the numbers of batches with a note of `inherit`, also by drivers that ended."""
        found = map(_INHERITED.fullmatch, self._names("inherited/"))
        return {int(match[1]) for match in found if match is not None}

    def forget_before(self, number: int, *, but: Collection[int] = ()) -> None:
        """Delete plans of batches before `number`, except the batches `but` and the newest plan."""
        names = self._names()
        numbered = [(int(m[1]), m[0]) for m in map(_PLAN.fullmatch, names) if m is not None]
        newest = max((found for found, _ in numbered), default=0)
        self._objects.delete(
            self._prefix + name
            for found, name in sorted(numbered)
            if found < min(number, newest) and found not in but
        )

    def _versions(self, prefix: str = "") -> dict[int, _Version]:
        """Return the valid plan version by batch number, of plans whose names have `prefix`."""
        versions: dict[int, _Version] = {}
        for match in map(_PLAN.fullmatch, self._names(prefix)):
            if match is not None:
                number, version = int(match[1]), _Version(int(match[2] or 0), int(match[3] or 0))
                versions[number] = max(versions.get(number, version), version)
        return versions

    def _names(self, prefix: str = "") -> list[str]:
        start = len(self._prefix)
        return [name[start:] for name in self._objects.list(self._prefix + prefix)]

    def _plan(self, number: int, version: _Version) -> Plan:
        found = self._read(_name(number, version), Plan.from_json)
        return replace(found, voids=version.voids)

    def _read(self, name: str, parse: Callable[[Fields, str], T]) -> T:
        data = self._objects.get(self._prefix + name)
        what = f"plan {self._prefix + name!r} in {self._objects}"
        return read_document(data, self._document(name), parse, what=what, hint=_HINT)

    def _document(self, name: str) -> str:
        return f"plans/{self._log_name}/{name}"


def _inherited(number: int, run: str) -> str:
    return f"inherited/{number:012d}-{run}.json"


def _name(number: int, version: _Version) -> str:
    voids = f".{version.voids}" if version.voids else ""
    revision = f"-{version.revision}" if version.revision else ""
    return f"{number:012d}{voids}{revision}.json"
