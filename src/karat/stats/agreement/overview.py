"""The coefficients of agreement of two raters, or of people among themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Literal, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.stats.agreement.accuracy import accuracy, both, pairwise_accuracy
from karat.stats.agreement.alpha import krippendorff_alpha
from karat.stats.agreement.auroc import auroc
from karat.stats.agreement.coefficient import Coefficient, undefined
from karat.stats.agreement.correlation import correlation
from karat.stats.agreement.distance import MOST_CATEGORIES, Level
from karat.stats.agreement.gwet import gwet_ac
from karat.stats.agreement.kappa import cohen_kappa

MeasurementLevel: TypeAlias = Literal["nominal", "ordinal", "interval"]
"""What labels are: names, ordered names, or numbers whose differences mean something."""
LEVELS: Mapping[MeasurementLevel, Level] = {"nominal": "nominal", "ordinal": "ordinal", "interval": "quadratic"}


def compare_raters(
    a: Array, b: Array, weights: Array | None, categories: Array, labels: Array | None = None
) -> dict[str, Coefficient]:
    """Every coefficient that suits two raters, each of shape (rows,), by name.

    `categories` are the labels that people could give; `labels`, where `a` is a score and `b` people, all that they
    gave. Weighted coefficients are there for more than two labels, AUROC
    where the second rater says yes or no.
    """
    used = both(a, b)
    yes_no = np.unique(b[used])
    kinds = reduce(np.union1d, (np.unique(a[used]), yes_no, categories))
    several = len(kinds) > 2
    coefficients: dict[str, Coefficient] = {}
    if reason := why_no_labels(a, b, categories, labels):
        coefficients = {name: undefined(reason, len(a)) for name in ("accuracy", "cohen_kappa", "gwet_ac1")}
    else:
        coefficients["accuracy"] = accuracy(a, b, weights=weights)
        coefficients["cohen_kappa"] = cohen_kappa(a, b, weights=weights)
        for level in ("linear", "quadratic") if several else ():
            coefficients[f"cohen_kappa_{level}"] = cohen_kappa(a, b, level=level, weights=weights)
        coefficients |= _of_many(np.column_stack([a, b]), weights, kinds)
    for kind in ("pearson", "spearman", "kendall"):
        coefficients[kind] = correlation(a, b, kind, weights=weights)
    if len(yes_no) == 2:
        coefficients["auroc"] = auroc(a, np.where(np.isnan(b), np.nan, b == yes_no[1]), weights=weights)
    return coefficients


def compare_people(people: Array, weights: Array | None, categories: Array) -> dict[str, Coefficient]:
    """The coefficients of any number of annotators, `people` of shape (rows, annotators), by name."""
    kinds = np.union1d(np.unique(people[~np.isnan(people)]), categories)
    coefficients = {"accuracy": pairwise_accuracy(people, weights=weights)} if len(kinds) <= MOST_CATEGORIES else {}
    return coefficients | _of_many(people, weights, kinds)


def _of_many(ratings: Array, weights: Array | None, kinds: Array) -> dict[str, Coefficient]:
    several, categories = len(kinds) > 2, len(kinds) <= MOST_CATEGORIES
    coefficients = {"krippendorff_alpha": krippendorff_alpha(ratings, weights=weights)} if categories else {}
    for scale in ("ordinal", "interval") if several else ():
        level = LEVELS[scale]
        coefficients[f"krippendorff_alpha_{scale}"] = krippendorff_alpha(ratings, level=level, weights=weights)
    if categories:
        coefficients["gwet_ac1"] = gwet_ac(ratings, categories=kinds, weights=weights)
        if several:
            coefficients["gwet_ac2"] = gwet_ac(ratings, level="quadratic", categories=kinds, weights=weights)
    return coefficients


def why_no_labels(a: Array, b: Array, categories: Array, labels: Array | None) -> str | None:
    """Why two raters do not label into the same categories, as in `compare_raters`; None if they do.

    A score labels as people do if it gives no third value beside two labels, and mostly people's beside more of them:
    people may lack a rare label.
    """
    used = both(a, b)
    a, b = np.unique(a[used]), np.unique(b[used])
    kinds = reduce(np.union1d, (a, b, categories))
    if len(kinds) > MOST_CATEGORIES:
        return f"{len(kinds)} different values are scores, not labels"
    for values, two in ((a, b), (b, a)) if len(categories) < 3 else ():
        if len(two) == 2 and ((values > two[0]) & (values < two[1])).any():
            return f"one rater gives values between the two labels of the other, {two[0]:g} and {two[1]:g}"
    if len(a) and not np.intersect1d(a, b).size:
        return f"they share no label: {_list(a)} and {_list(b)}; a label map puts them on one scale"
    if labels is None or len(a) == 0:
        return None
    known = np.union1d(labels, categories)
    strange = len(np.setdiff1d(a, known))
    if strange and len(np.union1d(a, known)) > 2 and (len(known) < 3 or 2 * strange >= len(a)):
        return f"the score is {_list(a)}, people's labels are {_list(known)}; a label map puts them on one scale"
    return None


def _list(values: Array) -> str:
    """The first different values."""
    return ", ".join(f"{value:g}" for value in values[:5])
