"""How often intervals hold what was planted: the mean of all prompts and judges, and the true share from error rates.

    python bench/instrument.py [SAMPLES]

Verdicts are right or wrong, by a sum of normal effects that is above 0. The mean over all prompts and judges is known.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy.stats import norm

from karat.core.columns.kinds import Array
from karat.stats.agreement.accuracy import mean
from karat.stats.agreement.coefficient import correlate
from karat.stats.corrected.rogan_gladen import rogan_gladen
from karat.stats.reliability.instrument import measure_instrument
from karat.stats.reliability.panel import examine_panel
from karat.stats.value import Estimate

# rows, prompts, judges, verdicts with each; deviations of the effects of prompts and judges (of a row's: 1)
DESIGNS = [
    (100, 5, 1, 1, 0.0, 0.0), (100, 5, 1, 2, 0.2, 0.0), (400, 3, 1, 1, 0.2, 0.0), (400, 5, 1, 1, 0.05, 0.0),
    (400, 5, 1, 1, 0.1, 0.0), (400, 5, 1, 1, 0.2, 0.0), (400, 10, 1, 1, 0.2, 0.0), (400, 1, 3, 1, 0.0, 0.3),
    (400, 1, 6, 1, 0.0, 0.3), (200, 5, 3, 1, 0.1, 0.3),
]  # fmt: skip
# true share, share accepted of wrong and of right answers, answers, answers of known truth of each kind
RATES = [
    (0.6, 0.2, 0.9, 200, 200), (0.6, 0.4, 0.8, 300, 50), (0.9, 0.02, 0.98, 500, 200), (0.05, 0.1, 0.9, 200, 200),
    (0.5, 0.3, 0.6, 300, 200), (0.95, 0.3, 0.95, 100, 50),
]  # fmt: skip
NORMAL = 1.959963984540054


def hold(found: Estimate, truth: float) -> bool:
    """Whether the interval holds it; one that is not known does not."""
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def draw(random: np.random.Generator, rows: int, share: float) -> Array:
    """Ones in this share of the rows, else zeros."""
    return (random.random(rows) < share).astype(np.float64)


def print_row(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def prompts_and_judges(samples: int) -> None:
    print_row("rows", "prompts", "judges", "verdicts each", "effect of prompts", "of judges", "with them", "rows alone")
    print_row(*["---"] * 8)
    for rows, prompts, judges, each, of_prompt, of_judge in DESIGNS:
        random = np.random.default_rng(1)
        truth = norm.cdf(0.5 / math.sqrt(1 + 2 * 0.3**2 + of_prompt**2 + of_judge**2))
        levels = {
            "prompt": np.repeat(np.arange(prompts), judges * each),
            "judge": np.tile(np.repeat(np.arange(judges), each), prompts),
        }
        held, width = np.zeros(2), np.zeros(2)
        for _ in range(samples):
            effect = 0.5 + random.normal(size=(rows, 1, 1, 1)) + of_prompt * random.normal(size=(1, prompts, 1, 1))
            effect = effect + of_judge * random.normal(size=(1, 1, judges, 1))
            effect = effect + 0.3 * random.normal(size=(rows, prompts, judges, 1))
            verdicts = effect + 0.3 * random.normal(size=(rows, prompts, judges, each)) > 0
            found = measure_instrument(verdicts.reshape(rows, -1).astype(float), levels)
            for at, one in enumerate((found.value, found.rows_alone)):
                held[at] += hold(one, truth)
                width[at] += (one.high or 0.0) - (one.low or 0.0)
        shown = (
            f"{100 * each_held / samples:.1f} · {wide / samples:.3f}"
            for each_held, wide in zip(held, width, strict=True)
        )
        print_row(rows, prompts, judges, each, of_prompt, of_judge, *shown)


def lang_reiczigel(positive: int, tested: int, true: int, right: int, false: int, wrong: int) -> tuple[float, float]:
    """The interval of Z. Lang and J. Reiczigel (2014)."""
    p = (positive + NORMAL**2 / 2) / (tested + NORMAL**2)
    se, sp = (true + 1) / (right + 2), (wrong - false + 1) / (wrong + 2)
    share, of_se, of_sp = (p + sp - 1) / (se + sp - 1), se * (1 - se) / (right + 2), sp * (1 - sp) / (wrong + 2)
    shift = 2 * NORMAL**2 * (share * of_se - (1 - share) * of_sp)
    variance = p * (1 - p) / (tested + NORMAL**2) + share**2 * of_se + (1 - share) ** 2 * of_sp
    reach = NORMAL * math.sqrt(variance) / (se + sp - 1)
    return max(0.0, share + shift - reach), min(1.0, share + shift + reach)


def true_shares(samples: int) -> None:
    print_row("true share", "accepts wrong", "accepts right", "answers", "known", "karat", "Lang and Reiczigel")
    print_row(*["---"] * 7)
    for truth, accepts_wrong, accepts_right, answers, known in RATES:
        random = np.random.default_rng(2)
        held, used = np.zeros(2), 0
        for _ in range(samples):
            share = truth * accepts_right + (1 - truth) * accepts_wrong
            accepted = [
                draw(random, n, p) for n, p in ((answers, share), (known, accepts_wrong), (known, accepts_right))
            ]
            found = rogan_gladen(*(mean(each).estimate() for each in accepted))
            if found.value is None:
                continue
            used += 1
            positive, false, true = (int(each.sum()) for each in accepted)
            low, high = lang_reiczigel(positive, answers, true, known, false, known)
            held += [hold(found, truth), low <= truth <= high]
        print_row(truth, accepts_wrong, accepts_right, answers, known, *(f"{100 * each / used:.1f}" for each in held))


def rates_of_one_exam(samples: int) -> None:
    """Each question has a right and a wrong answer; on most, a judge that is lenient is lenient on both."""
    print_row("questions", "with the correlation", "without")
    print_row(*["---"] * 3)
    for questions in (50, 150, 400):
        random, held = np.random.default_rng(3), np.zeros(2)
        for _ in range(samples):
            shared, own = random.random(questions), random.random((2, questions))
            rates = [
                mean((np.where(random.random(questions) < 0.8, shared, each) < p).astype(np.float64))
                for each, p in zip(own, (0.25, 0.85), strict=True)
            ]
            accepted = mean(draw(random, 2 * questions, 0.6 * 0.85 + 0.4 * 0.25)).estimate()
            for at, correlation in enumerate((correlate(rates[0], rates[1]), 0.0)):
                found = rogan_gladen(accepted, *(each.estimate() for each in rates), correlation=correlation)
                held[at] += hold(found, 0.6)
        print_row(questions, *(f"{100 * each / samples:.1f}" for each in held))


def panels(samples: int) -> None:
    """Judges that all err on the same tenth of the rows, and each on a ninth of the others."""
    print_row("rows", "judges", "correlation held", "best of all rows errs", "best of other rows errs", "in truth")
    print_row(*["---"] * 6)
    truth = (0.1 + 0.9 / 81 - 0.04) / 0.16
    for rows, judges in ((100, 3), (300, 3), (300, 9)):
        random, held, flattered, fitted = np.random.default_rng(4), 0, 0.0, 0.0
        for _ in range(samples):
            right = draw(random, rows, 0.6)
            wrong = (random.random(rows) < 0.1)[:, None] | (random.random((rows, judges)) < 1 / 9)
            found = examine_panel(np.where(wrong, 1 - right[:, None], right[:, None]), right)
            held += hold(found.correlation, truth)
            flattered += (found.errors[found.best].value or 0.0) / samples
            fitted += (found.alone.value or 0.0) / samples
        print_row(rows, judges, f"{100 * held / samples:.1f}", f"{flattered:.3f}", f"{fitted:.3f}", "0.200")


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    for each in (prompts_and_judges, true_shares, rates_of_one_exam, panels):
        each(number)
        print()
