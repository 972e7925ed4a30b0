"""The comparison of results equals a simple model, for any results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kstreams_shadow.comparison import Result, Tally, compared_results

MOST = 3
RESULTS = st.lists(
    st.builds(
        lambda key, value: Result(key, value, (value,)),
        st.sampled_from("abc"),
        st.sampled_from("12"),
    ),
    max_size=12,
)


def model(old: Sequence[Result], new: Sequence[Result]) -> Counter[str]:
    sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for number, results in enumerate((old, new)):
        for result in results:
            sides[result.key][number].append(result.value)
    found: Counter[str] = Counter()
    for olds, news in sides.values():
        while olds and news:
            found["equal" if olds.pop(0) == news.pop(0) else "different"] += 1
        found["only_old"] += len(olds)
        found["only_new"] += len(news)
    return found


@given(RESULTS, RESULTS)
def test_compared_results_equal_the_model(old: list[Result], new: list[Result]) -> None:
    tally, differences = compared_results(old, new, MOST)
    expected = model(old, new)
    assert tally.to_json() == {name: expected[name] for name in vars(Tally())}
    unequal = tally.different + tally.only_old + tally.only_new
    assert len(differences) == min(MOST, unequal)
    assert tally.is_equal == (unequal == 0)


@given(RESULTS)
def test_results_of_other_keys_between_do_not_matter(results: list[Result]) -> None:
    tally, _ = compared_results(results, sorted(results, key=lambda each: each.key), MOST)
    assert tally == Tally(equal=len(results))
