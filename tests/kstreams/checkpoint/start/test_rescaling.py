"""State that was divided among more partitions gives the results of an app that always had them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.support.apps.rescaled_app import TOPOLOGIES, Event, RescaledApp

KEYS = [f"k{number}" for number in range(12)]


@st.composite
def inputs(draw: st.DrawFn) -> tuple[list[list[Event]], int, int]:
    """Draw three batches with rising times, and the old and new number of partitions."""
    batches: list[list[Event]] = []
    time = 0
    for _ in range(3):
        batch: list[Event] = []
        for _ in range(draw(st.integers(1, 25))):
            time += draw(st.integers(0, 9))
            topic = draw(st.sampled_from(["events", "numbers"]))
            batch.append((topic, draw(st.sampled_from(KEYS)), draw(st.integers(0, 3)), time))
        batches.append(batch)
    before = draw(st.integers(1, 4))
    return batches, before, draw(st.integers(before, 6))


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.timeout(300)
@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # an example takes seconds
)
@given(drawn=inputs())
def test_divided_state_gives_results_of_app_that_always_had_the_partitions(
    name: str, drawn: tuple[list[list[Event]], int, int]
) -> None:
    batches, before, now = drawn
    with tempfile.TemporaryDirectory() as home:
        divided = RescaledApp(Path(home, "divided"), TOPOLOGIES[name](), before)
        always = RescaledApp(Path(home, "always"), TOPOLOGIES[name](), now)
        for number, batch in enumerate(batches):
            if number == 1:
                divided.rescale(now)
            divided.run(batch)
            always.run(batch)
        for app in (divided, always):
            app.close_windows()
        assert divided.results() == always.results()
