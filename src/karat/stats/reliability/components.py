"""Components of variance of verdicts: of the rows, and of the instrument, which is prompts, judges and repetition.

A headline, the mean score of some rows by one judge with one prompt, would be another with other rows, and also with
other words in the prompt or another judge. An interval over rows alone leaves the second part out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.variance import variance_components, variance_statistics
from karat.core.errors import DataError
from karat.data.json.objects import JsonObject
from karat.stats.intervals.student import student_quantile

Array = NDArray[np.float64]
Levels = Mapping[str, NDArray[np.int64]]
ROW, REPEAT, TIMES = "row", "repeat", " × "


@dataclass(frozen=True)
class Components(JsonObject):
    """The variances that add up to the variance of one verdict.

    `variances` has `row`, each facet (`prompt`, `judge`), each of their interactions (`row × prompt`, …) and `repeat`:
    the rest, which is a second verdict's if any was asked for again, else also the interaction of all facets. A facet
    of one level has no variance: what another level would do is not known. `negative`: the variances whose estimates
    were below 0 and are set to 0. `rows`: their number; `levels`: how many each facet has; `asked`: how many verdicts
    on a row have the same levels, for each combination of them.
    """

    rows: int
    levels: Mapping[str, int]
    asked: tuple[int, ...]
    variances: Mapping[str, float]
    negative: tuple[str, ...] = ()

    @property
    def repeated(self) -> bool:
        """Whether any verdict was asked for again."""
        return max(self.asked, default=1) > 1

    @property
    def facets(self) -> tuple[str, ...]:
        """The facets with a variance of their own."""
        return tuple(name for name in self.levels if name in self.variances)

    @property
    def repeats(self) -> float:
        """How many repetitions of each verdict give the mean of those that were asked for: their harmonic mean."""
        return len(self.asked) / sum(1 / each for each in self.asked)

    def parts(self, rows: float, levels: Mapping[str, int], repeats: float = 1) -> dict[str, float]:
        """What each component adds to the variance of the mean over so many rows, levels and repetitions.

        A facet that `levels` lacks has one level. Where no verdict was repeated, repetition is taken to change nothing.

        >>> variances = {"row": 0.2, "prompt": 0.01, "row × prompt": 0.02, "repeat": 0.04}
        >>> found = Components(100, {"prompt": 5}, (2, 1, 1, 1, 1), variances)
        >>> {name: round(each, 6) for name, each in found.parts(100, {"prompt": 2}, repeats=2).items()}
        {'row': 0.002, 'prompt': 0.005, 'row × prompt': 0.0001, 'repeat': 0.0001}
        """
        number = {ROW: rows} | {name: levels.get(name, 1) for name in self.facets}
        every = math.prod(number.values()) * (repeats if self.repeated else 1)
        return {
            name: each / (every if name == REPEAT else math.prod(number[part] for part in factors_of(name)))
            for name, each in self.variances.items()
        }

    def widened(self, parts: Mapping[str, float], confidence: float) -> dict[str, float]:
        """The parts as they count for an interval: by how much Student's t is wider than the normal quantile, squared.

        A part has the degrees of freedom of its factor with the fewest levels seen, or of the rows.

        Source: W. Howe, "Approximate confidence limits on the mean of X + Y where X and Y are two tabled independent
        random variables", JASA 69 (1974).

        >>> found = Components(10_000, {"prompt": 3}, (1, 1, 1), {"row": 0.2, "prompt": 0.01, "repeat": 0.04})
        >>> {name: round(each, 3) for name, each in found.widened(found.variances, 0.95).items()}
        {'row': 0.2, 'prompt': 0.048, 'repeat': 0.04}
        """
        return {name: each * widening(self._freedom(name), confidence) for name, each in parts.items()}

    def _freedom(self, name: str) -> float:
        factors = [] if name == REPEAT else factors_of(name)
        return self.rows - 1 if ROW in factors or not factors else min(self.levels[each] for each in factors) - 1


def widening(freedom: float, confidence: float) -> float:
    """The square of Student's quantile with these degrees of freedom by the normal one."""
    likely = (1 + confidence) / 2
    return (student_quantile(likely, freedom) / student_quantile(likely, math.inf)) ** 2


def factors_of(name: str) -> list[str]:
    """The rows and facets that an interaction is of."""
    return name.split(TIMES)


def find_components(scores: Array, facets: Levels) -> Components:
    """The components of variance of scores of rows by crossed facets, shape (rows, verdicts), NaN where there is none.

    `facets` has the level of each verdict in each facet, shape (verdicts,); verdicts with equal levels are repetitions.
    The half squared difference of two scores depends, on average, on what they share: the same row, the same prompt,
    both. Its means over all pairs that share the same determine the components. That is the analysis of variance where
    the design is balanced, and unbiased where it is not, if scores are missing at random.

    Raises `DataError` where the components are not known: of one row, or of one verdict on each.

    Source: G. Koch, "Some further remarks concerning 'A general approach to the estimation of variance components'",
    Technometrics 10 (1968); R. Brennan, "Generalizability Theory" (2001).

    >>> scores = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
    >>> found = find_components(scores, {"judge": np.arange(4)})  # Shrout and Fleiss (1979): ICC(2, 1) = .29
    >>> round(found.variances["row"] / sum(found.variances.values()), 2)
    0.29
    """
    there = ~np.isnan(scores)
    scores, columns = scores[there.any(axis=1)], there.any(axis=0)
    scores = scores[:, columns]
    levels = {name: np.unique(each[columns], return_inverse=True)[1] for name, each in facets.items()}
    names = [name for name, each in levels.items() if each.max(initial=0) > 0]
    if len(scores) < 2 or scores.shape[1] < 2:
        raise DataError("two rows with two verdicts each expected: what repeated verdicts vary by is not known")
    if not names:
        between, within = (float(each) for each in variance_components(variance_statistics(scores).sum(axis=0)))
        if not math.isfinite(between + within):
            raise DataError("a row with two verdicts expected: what repeated verdicts vary by is not known")
        return _components(scores, levels, {ROW: between, REPEAT: within})
    means = _mean_differences(scores, {name: levels[name] for name in names})
    effects = [(ROW,), *_subsets(names), *((ROW, *each) for each in _subsets(names))]
    whole, repeated = (ROW, *names), (ROW, *names) in means
    if lacking := [each for each in [(), *effects] if each not in means and each != whole]:
        shared = [" and ".join(each) or "nothing" for each in lacking]
        raise DataError(f"pairs of verdicts that share only {', '.join(shared)} expected, found none")
    covariance = {each: means[()] - means[each] for each in effects if each in means}
    variances = dict[str, float]()
    for effect in sorted(effects, key=len):
        if effect == whole and not repeated:
            continue
        parts = (variances[TIMES.join(part)] for part in _subsets(effect) if part != effect)
        variances[TIMES.join(effect)] = covariance[effect] - sum(parts)
    remainder = means[whole] if repeated else means[()] - sum(variances.values())
    return _components(scores, levels, {**variances, REPEAT: remainder})


def number_cells(levels: Levels) -> NDArray[np.int64]:
    """A number from 0 for each verdict, shape (verdicts,), equal where all levels are."""
    return np.unique(np.stack(list(levels.values()), axis=1), axis=0, return_inverse=True)[1].ravel()


def _components(scores: Array, levels: Levels, variances: Mapping[str, float]) -> Components:
    rounding = 1e-12 * sum(map(abs, variances.values()))
    negative = tuple(name for name, each in variances.items() if each < -rounding)
    kept = {name: max(0.0, each) for name, each in variances.items()}
    cells = np.bincount(number_cells(levels)).tolist() if levels else [scores.shape[1]]
    counts = {name: int(each.max()) + 1 for name, each in levels.items()}
    return Components(len(scores), counts, tuple(cells), kept, negative)


def _subsets(names: Sequence[str]) -> list[tuple[str, ...]]:
    """All subsets that are not empty, in the order of the names."""
    return list(chain.from_iterable(combinations(names, size) for size in range(1, len(names) + 1)))


def _mean_differences(scores: Array, levels: Levels) -> dict[tuple[str, ...], float]:
    """The mean half squared difference of the pairs of scores that share exactly these, by what they share."""
    there = ~np.isnan(scores)
    filled = np.where(there, scores - scores[there].mean(), 0.0)
    count, total, square = (each.sum(axis=0) for each in (there, filled, filled**2))
    known = there.astype(np.float64)
    pairs = known.T @ known  # of verdicts on the same row, by columns
    inside = (filled**2).T @ known
    inside = (inside + inside.T) / 2 - filled.T @ filled
    across = np.outer(count, count) - pairs
    outside = (np.outer(square, count) + np.outer(count, square)) / 2 - np.outer(total, total) - inside
    np.fill_diagonal(pairs, 0.0)  # of a verdict with itself
    np.fill_diagonal(inside, 0.0)
    same = {name: level[:, None] == level for name, level in levels.items()}
    differences = dict[tuple[str, ...], float]()
    for shared in [(), *_subsets(list(levels))]:
        here = np.ones_like(pairs, dtype=np.bool_)
        for name, each in same.items():
            here &= each if name in shared else ~each
        for key, sums, number in ((shared, outside, across), ((ROW, *shared), inside, pairs)):
            if many := number[here].sum():
                differences[key] = float(sums[here].sum() / many)
    return differences
