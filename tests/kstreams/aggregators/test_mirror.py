"""The column form of an aggregator is in the file with the aggregator's name."""

from __future__ import annotations

from pathlib import Path

from kstreams.aggregators import columns

FORMS = Path(columns.__file__).parent
SHARED = {"__init__", "available", "form", "stamped"}
"""Modules shared by the column forms: lookup of a form, base class and timestamps."""


def test_file_of_column_form_is_named_like_file_of_its_aggregator() -> None:
    aggregators = {file.stem for file in FORMS.parent.glob("*.py")}
    forms = {file.stem for file in FORMS.glob("*.py")}
    assert forms - SHARED <= aggregators
    assert forms >= SHARED
