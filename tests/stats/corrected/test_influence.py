"""Strata that are pooled, by their definition."""

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from karat.stats.corrected.influence import pool_strata


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1))
def test_strata_of_fewer_than_two_labels_are_one_with_the_next_smallest_and_others_stay(rows):
    strata, labelled = np.array(rows, int).T
    counts = {stratum: int(labelled[strata == stratum].sum()) for stratum in sorted(set(strata.tolist()))}
    poor = {stratum for stratum, count in counts.items() if count < 2}
    if poor and sum(map(counts.get, poor)) < 2:
        poor |= set(sorted(counts.keys() - poor, key=lambda stratum: (counts[stratum], stratum))[:1])
    expected = [{stratum} for stratum in counts if stratum not in poor] + [poor] * bool(poor)
    found = defaultdict(set)
    for stratum, number in zip(strata.tolist(), pool_strata(strata, labelled.astype(bool)).tolist(), strict=True):
        found[number].add(stratum)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, expected))
    assert sorted(found) == list(range(len(found)))
