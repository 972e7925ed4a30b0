"""Times in form fields, in UTC and in the format of browsers."""

from __future__ import annotations

from kstreams.quoting import repr_of
from kstreams.state.log.fields import MOST
from kstreams_admin.moments import iso, ms_of
from kstreams_serve.parameters import Parameters
from kstreams_serve.problems import Problem

__all__ = ("time_field", "with_times")

_FIELDS = {"since": "from", "until": "to"}


def with_times(given: Parameters) -> Parameters:
    """Return parameters in which `from` and `to`, in ms, replace `since` and `until`.

    Raises:
        Problem: A field is not a time, or both `since` and `from` (or `until` and `to`) are given.
    """
    found = {name: text for name, text in given.items() if name not in _FIELDS}
    for field, name in _FIELDS.items():
        if field not in given:
            continue
        if name in given:
            raise Problem(400, f"{field} and {name} are both given: give one of the two")
        try:
            found[name] = str(ms_of(given[field]))
        except ValueError as exc:
            raise Problem(
                400,
                f"{field} is {repr_of(given[field], 40)}; expected a time in UTC, such as "
                "2026-11-22T05:00:00",
            ) from exc
    return Parameters(found)


def time_field(given: Parameters, name: str) -> str:
    """Return the form field text of a parameter in ms; empty without the parameter.

    Raises:
        Problem: The parameter is not a time.
    """
    found = given.whole(name, -MOST, MOST)
    text = "" if found is None else iso(found)
    return "" if text.startswith("@") else text.removesuffix("Z").removesuffix(".000")
