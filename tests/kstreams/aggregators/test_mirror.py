"""An aggregator's column form is in the file that has the aggregator's name."""

from __future__ import annotations

from pathlib import Path

from kstreams.aggregators import columns

FORMS = Path(columns.__file__).parent
SHARED = {"__init__", "available", "form", "stamped"}
"""What is no aggregator's own: whether there is a form, what a form is, and its timestamps."""


def test_each_form_has_the_file_name_of_its_aggregator() -> None:
    aggregators = {file.stem for file in FORMS.parent.glob("*.py")}
    forms = {file.stem for file in FORMS.glob("*.py")}
    assert forms - SHARED <= aggregators
    assert forms >= SHARED
