"""How often intervals of agreement that say 95 % hold the truth, by simulation: `python bench/agreement.py [SAMPLES]`.

Raters see a hidden truth and err at known rates; the value of very many rows is taken for the truth. Printed is, for
each coefficient and number of labelled rows, how many intervals hold it, in %, and their median width.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.stats.agreement.accuracy import accuracy
from karat.stats.agreement.alpha import alpha_with_each, krippendorff_alpha
from karat.stats.agreement.auroc import auroc
from karat.stats.agreement.coefficient import Coefficient, difference
from karat.stats.agreement.correlation import correlation
from karat.stats.agreement.gwet import gwet_ac
from karat.stats.agreement.kappa import cohen_kappa
from karat.stats.agreement.threshold import best_threshold
from karat.stats.value import Estimate

Array = NDArray[np.float64]
Measure = Callable[[Array], Coefficient]
random = np.random.default_rng(11)
SIZES = (30, 50, 100, 300, 1_000)


def yes_no(yes: float, right: float, raters: int = 2, missing: float = 0.0) -> Callable[[int], Array]:
    """Labels 0 and 1 of raters who each give the hidden label with probability `right`."""

    def draw(n: int) -> Array:
        hidden = random.random(n) < yes
        labels = np.where(random.random((n, raters)) < right, hidden[:, None], ~hidden[:, None]).astype(float)
        labels[random.random((n, raters)) < missing] = np.nan
        return labels

    return draw


def grades(noise: float, raters: int = 2, missing: float = 0.0) -> Callable[[int], Array]:
    """Labels from 1 to 5 of raters who see a hidden quality with normal errors."""

    def draw(n: int) -> Array:
        seen = random.normal(size=(n, 1)) + noise * random.normal(size=(n, raters))
        labels = np.clip(np.round(3.4 + 1.2 * seen), 1, 5)
        labels[random.random((n, raters)) < missing] = np.nan
        return labels

    return draw


def scored(shift: float, yes: float) -> Callable[[int], Array]:
    """A normal score, higher by `shift` where the label is 1, and the label."""

    def draw(n: int) -> Array:
        label = (random.random(n) < yes).astype(float)
        return np.column_stack([random.normal(size=n) + shift * label, label])

    return draw


def in_clusters(draw: Callable[[int], Array]) -> Callable[[int], tuple[Array, NDArray[np.int64]]]:
    """Clusters of one to five rows, half of which repeat the cluster's first row; `n` is the number of clusters."""

    def draw_clusters(n: int) -> tuple[Array, NDArray[np.int64]]:
        clusters = np.repeat(np.arange(n), random.integers(1, 6, n))
        rows, first = draw(len(clusters)), draw(n)[clusters]
        return np.where(random.random((len(clusters), 1)) < 0.5, first, rows), clusters

    return draw_clusters


def a_third_person(right: float) -> Callable[[int], Array]:
    """Two people who are each right with probability 0.9, and a judge who is with probability `right`."""

    def draw(n: int) -> Array:
        hidden = random.random(n) < 0.6
        rights = random.random((n, 3)) < (0.9, 0.9, right)
        return np.where(rights, hidden[:, None], ~hidden[:, None]).astype(float)

    return draw


def measure_difference(name: str, draw: Callable[[int], Array], samples: int) -> None:
    """The alpha of a judge with one person, less that of people among themselves."""

    def both(ratings: Array) -> tuple[Coefficient, Coefficient]:
        return alpha_with_each(ratings[:, 2], ratings[:, :2]), krippendorff_alpha(ratings[:, :2])

    one, other = both(draw(400_000))
    report(name, one.value - other.value, lambda n: difference(*both(draw(n))), samples)


def measure_threshold(name: str, shift: float, yes: float, samples: int) -> None:
    """The best threshold of two normal distributions of equal width is half-way between their means."""

    def estimate(n: int) -> Estimate:
        cut = best_threshold(*scored(shift, yes)(n).T)
        return Estimate(cut.value, cut.low, cut.high, n)

    report(name, shift / 2, estimate, samples)


def measure(name: str, draw: Callable[[int], Any], coefficient: Measure, samples: int) -> None:
    """The coverage of a coefficient; `draw` returns rows, or rows and their clusters."""

    def estimate(n: int) -> Estimate:
        rows = draw(n)
        return coefficient(rows[0]).estimate(rows[1]) if isinstance(rows, tuple) else coefficient(rows).estimate()

    large = draw(400_000)
    report(name, coefficient(large[0] if isinstance(large, tuple) else large).value, estimate, samples)


def report(name: str, truth: float, estimate: Callable[[int], Estimate], samples: int) -> None:
    """Print how many intervals hold the truth, in %, their median width, and how many samples have no estimate."""
    cells = []
    for n in SIZES:
        estimates = [estimate(n) for _ in range(samples)]
        ends = [(each.low, each.high) for each in estimates if each.low is not None and each.high is not None]
        held = sum(low <= truth <= high for low, high in ends) / max(len(ends), 1)
        none = f", {100 * (samples - len(ends)) / samples:.1f} % none" if len(ends) < samples else ""
        cells.append(f"{100 * held:.1f} ({np.median([high - low for low, high in ends]):.2f}{none})")
    print(f"| {name} | {truth:.3f} | {' | '.join(cells)} |", flush=True)


def simulate_clusters_and_differences(samples: int) -> None:
    """Rows in clusters, differences of two coefficients on the same rows, and thresholds (a fifth of the samples)."""
    clustered = in_clusters(yes_no(0.6, 0.9))
    measure("kappa, clusters of 1 to 5 rows", clustered, lambda x: cohen_kappa(*x.T), samples)
    measure("AUROC, clusters of 1 to 5 rows", in_clusters(scored(1.0, 0.4)), lambda x: auroc(*x.T), samples)
    measure_difference("alpha of a judge as good as people, less theirs", a_third_person(0.9), samples)
    measure_difference("alpha of a judge worse than people, less theirs", a_third_person(0.8), samples)
    for shift, yes in ((1.0, 0.5), (2.0, 0.3)):
        words = f"normal scores {shift:g} apart, yes {100 * yes:g} %"
        measure_threshold(f"best threshold, {words}", shift, yes, samples // 5)


def main() -> None:
    """Run every simulation."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    print(f"| coefficient, raters | truth | {' | '.join(f'n = {n}' for n in SIZES)} |")
    print("|" + "---|" * (len(SIZES) + 2))
    start = time.perf_counter()
    for yes, right in ((0.5, 0.9), (0.5, 0.99), (0.85, 0.9), (0.95, 0.95)):
        draw, words = yes_no(yes, right), f"yes {100 * yes:g} %, each right {100 * right:g} %"
        measure(f"accuracy, {words}", draw, lambda x: accuracy(*x.T), samples)
        measure(f"Cohen's kappa, {words}", draw, lambda x: cohen_kappa(*x.T), samples)
        measure(f"AC1, {words}", draw, gwet_ac, samples)
        few = yes_no(yes, right, 3, 0.2)
        measure(f"alpha, 3 raters, 20 % missing, {words}", few, krippendorff_alpha, samples)
    for noise in (0.3, 1.0):
        draw, words = grades(noise), f"grades 1 to 5, noise {noise:g}"
        measure(f"quadratic kappa, {words}", draw, lambda x: cohen_kappa(*x.T, level="quadratic"), samples)
        few = grades(noise, 3, 0.2)
        measure(f"ordinal alpha, 3 raters, {words}", few, lambda x: krippendorff_alpha(x, level="ordinal"), samples)
        measure(f"AC2, {words}", draw, lambda x: gwet_ac(x, level="quadratic"), samples)
        for kind in ("pearson", "spearman", "kendall"):
            measure(f"{kind}, {words}", draw, lambda x, kind=kind: correlation(*x.T, kind), samples)  # type: ignore[misc]
    for shift, yes in ((0.5, 0.5), (1.5, 0.5), (1.5, 0.1), (3.0, 0.5), (3.0, 0.1)):
        words = f"normal scores {shift:g} apart, yes {100 * yes:g} %"
        measure(f"AUROC, {words}", scored(shift, yes), lambda x: auroc(*x.T), samples)
    simulate_clusters_and_differences(samples)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
