"""Reports that follow from labels: few of them are false, over all ways to draw the labelled rows."""

from itertools import combinations

import pytest

from karat.stats.reliability.selection import adjust_by_labels


@pytest.mark.parametrize("truth", ["tttttttttt", "ttttttttff", "tttftttfff", "ttfttftfft", "ffffffffff", "fffttttttt"])
@pytest.mark.parametrize("labelled", [3, 6])
@pytest.mark.parametrize("level", [0.1, 0.25])
def test_on_average_over_all_draws_no_more_are_false_than_the_level(truth, labelled, level):
    shares = []
    for chosen in combinations(range(10), labelled):
        adjusted = adjust_by_labels([each == "t" if at in chosen else None for at, each in enumerate(truth)])
        reported = [at for at, share in enumerate(adjusted) if share is not None and share <= level]
        shares.append(sum(truth[at] == "f" for at in reported) / max(1, len(reported)))
    assert sum(shares) / len(shares) <= level


def test_values_are_those_of_benjamini_and_hochberg_where_people_cleared_all():
    stats = pytest.importorskip("scipy.stats")
    labels = [None, None, False, None, False, None, None, False, False]
    cleared = [0, 0, 1, 2, 2]  # before each row that nobody looked at, of those before the last labelled one
    expected = stats.false_discovery_control([(1 + each) / 4 for each in cleared])
    found = [share for share, label in zip(adjust_by_labels(labels)[:-1], labels, strict=False) if label is None]
    assert found == pytest.approx([min(1.0, each) for each in expected])
    assert adjust_by_labels([None, True, None]) == [1.0, 0.0, None]
    assert adjust_by_labels([]) == []
    assert adjust_by_labels([None, None]) == [None, None]
