"""Corrected values: figures of ppi-python 0.2.3 (PPI++), algebra, and what bad input gets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from karat.core.errors import DataError, RowError
from karat.stats.corrected.estimate import corrected_difference, corrected_mean
from karat.stats.corrected.judged import Judged

ROWS = np.arange(3_000)


def fractions(factor, add, prime):
    """Numbers from 0 to 1 that look random, the same on every machine."""
    return (ROWS * factor + add) % prime / prime


LABELS = (fractions(7919, 13, 1009) < 0.62).astype(float)
VERDICTS = np.where(fractions(6007, 5, 997) < 0.85, LABELS, 1 - LABELS)
SCORES = np.clip(0.6 * LABELS + 0.4 * fractions(3571, 11, 991), 0, 1)
NOISE = fractions(4241, 3, 983)
SECOND = np.where(fractions(2713, 1, 977) < 0.8, LABELS, 1 - LABELS)
VERDICTS_OF_SECOND = np.where(fractions(1511, 1, 971) < 0.9, SECOND, 1 - SECOND)

# labels, scores, number of labels; then lambda, value, low and high of ppi_mean_ci(alpha=0.05), with the lambda of
# _calc_lam_glm(clip=False): where it is not between 0 and 1, ppi-python has to be called with this lambda.
PPI_PYTHON = {
    "verdicts": (LABELS, VERDICTS, 400, 0.5938499840000002, 0.6291361536, 0.5928194136917536, 0.6654528935082463),
    "scores": (
        *(SCORES, 0.5 * SCORES + 0.5 * NOISE, 400),
        *(0.9493047208258693, 0.5713639425383474, 0.5489849592769044, 0.5937429257997905),
    ),
    "useless": (
        *(LABELS, NOISE, 400),
        *(-0.0008312875469507331, 0.6200003207017455, 0.5724333299714468, 0.6675673114320442),
    ),
    "reversed": (LABELS, 1 - VERDICTS, 400, -0.5938499840000002, 0.6291361536, 0.5928194136917536, 0.6654528935082463),
    "few other rows": (
        *(LABELS, VERDICTS, 2_500),
        *(0.11367974440228569, 0.6196724496358252, 0.6014248420880283, 0.6379200571836222),
    ),
}
DIFFERENCE = (0.3470889396966888, -0.05513755606363355, -0.08564554293709614, -0.024629569190170952)


def judged(labels, scores, count, **columns):
    return Judged(scores, np.where(ROWS[: len(labels)] < count, labels, np.nan), **columns)


def figures(found):
    return found.weight, found.value, found.low, found.high


@pytest.mark.parametrize("case", PPI_PYTHON)
def test_means_are_those_of_ppi_python(case):
    labels, scores, count, *expected = PPI_PYTHON[case]
    found = corrected_mean(judged(labels, scores, count))
    assert found.method == "normal"
    assert figures(found) == pytest.approx(expected, abs=1e-9)


def test_a_paired_difference_is_that_of_ppi_python():
    first, second = judged(LABELS, VERDICTS, 600), judged(SECOND, VERDICTS_OF_SECOND, 600)
    found = corrected_difference(first, second)
    assert figures(found) == pytest.approx(DIFFERENCE, abs=1e-9)
    back = corrected_difference(second, first)
    assert (back.value, back.low, back.high) == pytest.approx((-found.value, -found.high, -found.low), abs=1e-12)


def test_the_p_of_a_difference_is_that_of_its_normal_interval():
    found = corrected_difference(judged(LABELS, VERDICTS, 600), judged(SECOND, VERDICTS_OF_SECOND, 600))
    _, value, low, high = DIFFERENCE
    error = (high - low) / (2 * norm.ppf(0.975))
    assert found.p == pytest.approx(2 * norm.sf(abs(value) / error), rel=1e-2)
    assert corrected_mean(judged(LABELS, VERDICTS, 600)).p is None


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, None)])
@pytest.mark.parametrize("more", [0, 20])
def test_a_difference_has_a_p_of_at_most_5_percent_where_its_interval_excludes_0(bounds, more):
    random, excluded = np.random.default_rng(more), []
    for _ in range(12):
        a, b = (np.clip(random.normal(mean, 0.3, 400), 0, 1) for mean in (0.4, 0.46))
        first, second = (np.where(np.arange(400) < count, each, np.nan) for each, count in ((a, 40), (b, 40 + more)))
        found = corrected_difference(Judged(a**2, first), Judged(b**2, second), bounds=bounds)
        excluded.append(found.low > 0 or found.high < 0)
        assert (found.p <= 0.05) == excluded[-1]
    assert 0 < sum(excluded) < 12


def test_a_difference_of_0_and_a_sure_one():
    same = judged(LABELS, VERDICTS, 600)
    assert corrected_difference(same, same).p == 1
    never, always = (judged(np.full(3_000, label), VERDICTS, 2_000) for label in (0.0, 1.0))
    assert corrected_difference(never, always).p < 1e-8


def test_the_scale_of_the_judge_does_not_matter():
    plain = corrected_mean(judged(LABELS, VERDICTS, 300))
    other = corrected_mean(judged(LABELS, 7 - 3 * VERDICTS, 300))
    assert (other.value, other.low, other.high) == pytest.approx((plain.value, plain.low, plain.high))
    assert other.weight == pytest.approx(-plain.weight / 3)


def test_equal_probabilities_are_no_probabilities():
    plain = corrected_mean(judged(LABELS, VERDICTS, 300))
    assert corrected_mean(judged(LABELS, VERDICTS, 300, probabilities=np.full(3_000, 0.1))) == plain


def test_clusters_of_one_row_are_no_clusters():
    plain = corrected_mean(judged(LABELS, VERDICTS, 300))
    alone = corrected_mean(judged(LABELS, VERDICTS, 300, clusters=ROWS.astype(np.uint64)))
    assert figures(alone) == pytest.approx(figures(plain))
    assert alone.effective == pytest.approx(plain.effective)


def test_rows_that_stand_twice_are_worth_one_if_they_are_one_cluster():
    plain = corrected_mean(judged(LABELS, VERDICTS, 300))
    columns = (np.repeat(column, 2) for column in (VERDICTS, np.where(ROWS < 300, LABELS, np.nan)))
    twice = corrected_mean(Judged(*columns, clusters=np.repeat(ROWS, 2).astype(np.uint64)))
    assert (twice.value, twice.low, twice.high) == pytest.approx((plain.value, plain.low, plain.high), abs=2e-4)
    assert twice.effective == pytest.approx(2 * plain.effective, rel=0.01)


def test_one_stratum_is_no_strata_and_two_add_up():
    plain = corrected_mean(judged(LABELS, VERDICTS, 400))
    one = corrected_mean(judged(LABELS, VERDICTS, 400, strata=np.zeros(3_000, np.int64)))
    assert (one.value, one.low, one.high) == pytest.approx((plain.value, plain.low, plain.high))
    parts = [
        corrected_mean(Judged(VERDICTS[rows], np.where(ROWS < 800, LABELS, np.nan)[rows]))
        for rows in (ROWS % 3 == 0, ROWS % 3 > 0)
    ]
    both = corrected_mean(judged(LABELS, VERDICTS, 800, strata=(ROWS % 3 > 0).astype(np.int64)))
    assert both.value == pytest.approx(parts[0].value / 3 + parts[1].value * 2 / 3)
    halves = [(part.high - part.low) / 2 for part in parts]
    assert (both.high - both.low) / 2 == pytest.approx(np.hypot(halves[0] / 3, halves[1] * 2 / 3), rel=0.003)


def test_weights_undo_a_sample_that_prefers_wrong_answers():
    chances = np.where(LABELS == 1, 0.1, 0.4)
    drawn = fractions(8101, 7, 1013) < chances
    found = corrected_mean(Judged(NOISE, np.where(drawn, LABELS, np.nan), probabilities=chances))
    naive = corrected_mean(Judged(NOISE, np.where(drawn, LABELS, np.nan)))
    assert found.low < LABELS.mean() < found.high
    assert naive.high < LABELS.mean()
    assert found.labels_alone[0] == pytest.approx(np.average(LABELS[drawn], weights=1 / chances[drawn]))


def test_labels_of_one_system_only_count_too():
    first, second = judged(LABELS, VERDICTS, 600), judged(SECOND, VERDICTS_OF_SECOND, 600)
    more = replace(second, labels=np.where(ROWS < 900, SECOND, np.nan))
    found, paired = corrected_difference(first, more), corrected_difference(first, second)
    assert (found.labelled, paired.labelled) == (900, 600)
    assert found.value == pytest.approx(paired.value, abs=0.02)
    assert 0.9 < (found.high - found.low) / (paired.high - paired.low) < 1.05


def test_a_difference_is_no_surer_than_the_system_with_few_labels():
    few, many = judged(LABELS, VERDICTS, 2), judged(SECOND, VERDICTS_OF_SECOND, 600)
    found, of_few, of_many = corrected_difference(few, many), corrected_mean(few), corrected_mean(many)
    assert found.value == pytest.approx(of_many.value - of_few.value)
    assert found.high - found.low > 0.9 * (of_few.high - of_few.low) > 0.6
    assert np.diff(found.labels_alone[1:]) > 0.6
    assert (found.method, found.weight, found.labelled) == ("combined", None, 600)
    widths = [high - low for low, high in (found.labels_alone[1:], (found.low, found.high))]
    assert found.effective == pytest.approx(600 * (widths[0] / widths[1]) ** 2)
    assert f"worth {found.effective:.0f} labels alone" in found.worth_in_words
    back = corrected_difference(many, few)
    assert (back.value, back.low, back.high) == pytest.approx((-found.value, -found.high, -found.low), abs=1e-12)
    assert found.worth_in_words.endswith("of each system by its own labels, the two intervals combined (MOVER)")


def test_labels_of_other_rows_of_each_system_are_not_those_of_all_rows():
    first, second = (
        replace(judged(LABELS, VERDICTS, 0), labels=np.where(at == ROWS % 2, LABELS, np.nan)) for at in (0, 1)
    )
    found = corrected_difference(first, second)
    assert found.labelled == found.n == 3_000
    assert "all rows are labelled" not in found.in_words


def test_a_difference_of_open_bounds_without_an_end_has_none():
    lengths = -np.log(NOISE + 0.001)
    first, second = judged(lengths, lengths, 2), judged(lengths, lengths, 60)
    found = corrected_difference(first, second, bounds=(0.0, None))
    assert (found.method, found.low, found.labels_alone[1]) == ("combined", None, None)


def test_the_mean_of_exactly_these_rows_is_known_where_all_are_labelled():
    found = corrected_mean(judged(LABELS, VERDICTS, 3_000), finite=True)
    assert (found.low, found.value, found.high) == pytest.approx((LABELS.mean(),) * 3)
    some, wide = (corrected_mean(judged(LABELS, VERDICTS, 1_500), finite=finite) for finite in (True, False))
    assert some.value == pytest.approx(wide.value)
    assert some.high - some.low < 0.8 * (wide.high - wide.low)


def test_labels_that_are_all_equal_leave_the_interval_of_labels_alone():
    found = corrected_mean(judged(np.ones(3_000), VERDICTS, 50))
    assert (found.value, found.method, found.weight, found.effective) == (1, "labels", 0, 50)
    assert (found.low, found.high) == pytest.approx((0.9286, 1), abs=1e-4)


def test_a_judge_that_never_errs_on_few_labels_is_not_trusted_blindly():
    found = corrected_mean(judged(LABELS, LABELS, 50))
    assert found.method == "wilson"
    assert found.high - found.low > 2 * 0.02
    assert found.effective < 1_000


def test_rows_without_a_score_count_with_an_average_one():
    scores = np.where(ROWS % 7 == 0, np.nan, VERDICTS)
    found = corrected_mean(judged(LABELS, scores, 700))
    filled = corrected_mean(judged(LABELS, np.where(np.isnan(scores), np.nanmean(scores), scores), 700))
    assert figures(found) == figures(filled)
    assert (found.n, found.uncorrected) == (3_000, np.nanmean(scores))


def test_open_bounds_use_the_bootstrap_where_labels_are_few():
    lengths = -np.log(NOISE + 0.001)
    found = corrected_mean(judged(lengths, lengths + 0.3 * SCORES, 60), bounds=(0.0, None))
    assert found.method == "bootstrap"
    assert 0 < found.low < found.value < found.high
    assert found.labels_alone[2] - found.labels_alone[1] > found.high - found.low


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (judged(LABELS, VERDICTS, 1), "at least 2 labels expected, found 1 for 3000 rows"),
        (judged(LABELS, np.where(ROWS < 50, np.nan, VERDICTS), 40), "none of the 40 labelled rows has a score"),
        (
            judged(LABELS, VERDICTS, 40, probabilities=np.where(ROWS == 3, 0, 0.1)),
            "row 3 has a label, but was proposed with a probability of 0",
        ),
        (
            judged(LABELS, VERDICTS, 40, probabilities=np.where(ROWS == 3, np.nan, 0.1)),
            "row 3 has a label, but was proposed with a probability of nan",
        ),
        (judged(LABELS, VERDICTS, 40, clusters=(ROWS // 40).astype(np.uint64)), "all 40 labels are of one cluster"),
        (
            judged(LABELS, VERDICTS, 40, strata=np.minimum(ROWS // 39, 1)),
            "at least 2 labels expected in each of 2 strata, found 1 in one",
        ),
    ],
)
def test_no_estimate_says_why(rows, reason):
    found = corrected_mean(rows)
    assert (found.reason, found.value, found.low, found.labels_alone) == (reason, None, None, None)
    assert found.in_words == f"no estimate: {reason}"
    assert corrected_difference(rows, rows).reason == reason


@pytest.mark.parametrize("bounds", [(None, None), (-9.0, None), (None, 9.0)])
def test_an_open_end_takes_labels_of_any_size(bounds):
    labels, scores = 8 * LABELS - 6, 8 * VERDICTS - 6
    found = corrected_mean(judged(labels, scores, 400), bounds=bounds)
    assert found.value == pytest.approx(8 * corrected_mean(judged(LABELS, VERDICTS, 400)).value - 6)


def test_bad_labels_are_an_error():
    with pytest.raises(DataError, match=r"labels from 0\.0 to 1\.0 expected, found 5 in row 2"):
        corrected_mean(judged(np.where(ROWS == 2, 5, LABELS), VERDICTS, 40))
    with pytest.raises(RowError, match="labels: finite numbers expected, found one that is not in row 0"):
        judged(np.full(3_000, np.inf), VERDICTS, 40)
    with pytest.raises(RowError, match="two systems of equally many rows expected, found 3000 and 2"):
        corrected_difference(judged(LABELS, VERDICTS, 40), judged(LABELS[:2], VERDICTS[:2], 2))


def test_labels_that_sum_alike_in_every_cluster_have_no_worth_but_a_value():
    labels = np.where(np.arange(90) % 3, np.nan, np.arange(90) % 2)
    scores = np.random.default_rng(0).integers(0, 2, 90).astype(float)
    found = corrected_mean(Judged(scores, labels, clusters=(np.arange(90) // 6).astype(np.uint64)))
    assert found.value is not None
    assert found.effective is None
