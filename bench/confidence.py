"""Metrics of confidences beside scikit-learn, torchmetrics and plain Python, and how often their intervals are right.

`python bench/confidence.py [ROWS]` times the same confidences in each, in one run. `python bench/confidence.py
--intervals [TIMES]` prints, as Markdown, how often the 95 % interval of a value holds that of the population, how often
that of the difference between two equal systems holds 0, and how often p is at most 0.05. The population's calibration
error is that of its bins; an error computed from few rows is too high on average, whatever its interval.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import karat
from karat.core.metric.spec import parse
from karat.stats.aggregate import Scale
from karat.stats.paired.compare import Pairing
from karat.stats.value import make_units, summarise

SPECS = (
    "brier(column(right))",
    "ece(column(right))",
    "ece(column(right), binning=mass)",
    "auroc(column(right))",
    "auprc(column(right))",
    "aurc(column(right))",
    "accuracy_at_coverage(column(right))",
)
SIZES = (100, 400, 2_000)
random = np.random.default_rng(0)


def draw(n: int, hard: Any = None) -> tuple[Any, Any]:
    """Confidences, mostly high, and whether answers are right, which is less often than they say."""
    hard = random.normal(size=n) if hard is None else hard
    confidence = 1 / (1 + np.exp(-1.2 - 1.2 * hard - 0.7 * random.normal(size=n)))
    return confidence, (random.random(n) < 0.9 / (1 + np.exp(-0.6 - 1.1 * hard))).astype(float)


def statistics_of(spec: str, confidence: Any, right: Any) -> Any:
    """The row statistics of a metric."""
    import pyarrow as pa  # noqa: PLC0415

    from karat.core.metric.score import score_columns  # noqa: PLC0415

    roles = {"column(right)": pa.array(right), "confidence": pa.array(confidence)}
    (rows,) = score_columns([parse(spec)], roles)
    return rows.statistics


def simulate(spec: str, n: int, true: float, times: int) -> tuple[float, float, float]:
    """The three shares, in %."""
    metric = parse(spec)
    scale = Scale(metric.finish, (metric.definition.low, metric.definition.high), metric.definition.direction)
    held = zero = found = 0
    numbers = np.arange(n, dtype=np.uint64)
    for _ in range(times):
        hard = random.normal(size=n)
        a, b = (statistics_of(spec, *draw(n, hard)) for _ in range(2))
        units = make_units(metric.finish, a.shape[1])
        units.add(a, numbers)
        value = summarise(units, scale)
        held += value.low is not None and value.high is not None and value.low <= true <= value.high
        pairing = Pairing(scale, a.shape[1])
        pairing.add(a, b, numbers)
        compared = pairing.compare()
        zero += compared.low is None or compared.high is None or compared.low <= 0 <= compared.high
        found += compared.p is not None and compared.p <= 0.05
    return 100 * held / times, 100 * zero / times, 100 * found / times


def intervals(times: int) -> None:
    """Print the table."""
    print("|", "".join(f"| n = {n:,} " for n in SIZES) + "|\n|---|" + "---|" * len(SIZES))
    confidence, right = draw(4_000_000)
    for spec in SPECS:
        metric = parse(spec)
        units = make_units(metric.finish, (statistics := statistics_of(spec, confidence, right)).shape[1])
        units.add(statistics, np.arange(len(right), dtype=np.uint64) if units.keeps == "sums" else None)
        true = summarise(units, Scale(metric.finish, (None, None))).value if units.keeps == "curve" else None
        if true is None:
            totals = statistics.sum(axis=0)
            true = float(metric.finish(totals)) if metric.finish else float(totals[0] / len(right))
        cells = (", ".join(f"{each:.1f}" for each in simulate(spec, n, true, times)) for n in SIZES)
        print(f"| {metric.spec} |", " | ".join(cells), "|", flush=True)


def clock(call: Callable[[], Any]) -> tuple[float, Any]:
    """The least seconds of all cores of three calls, and what the last of them returned."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        found = call()
        taken.append(time.process_time() - start)
    return min(taken), found


def plain_risks(confidence: Any, right: Any) -> float:
    """The area under the risk-coverage curve, one row after another, as its published code has it."""
    lost = area = 0.0
    for number, (_, correct) in enumerate(sorted(zip(confidence, right, strict=True), reverse=True), 1):
        lost += 1 - correct
        area += lost / number
    return area / len(right)


def speed(rows: int) -> None:
    """Print seconds beside those of the references, and the largest difference of the values."""
    import torch  # noqa: PLC0415
    from sklearn import metrics as sklearn  # noqa: PLC0415
    from torchmetrics.functional.classification import binary_calibration_error  # noqa: PLC0415

    confidence, right = draw(rows)
    tensors = torch.tensor(confidence), torch.tensor(right)
    plain = confidence.tolist(), right.tolist()
    references: dict[str, tuple[str, Callable[[], Any]]] = {
        "brier": ("scikit-learn", lambda: sklearn.brier_score_loss(right, confidence)),
        "log_loss": ("scikit-learn", lambda: sklearn.log_loss(right, confidence)),
        "ece": ("torchmetrics", lambda: float(binary_calibration_error(*tensors, n_bins=15, validate_args=False))),
        "auroc": ("scikit-learn", lambda: sklearn.roc_auc_score(right, confidence)),
        "auprc": ("scikit-learn", lambda: sklearn.average_precision_score(right, confidence)),
        "aurc": ("plain Python", lambda: plain_risks(*plain)),
    }
    table = {"right": right, "confidence": confidence}
    print(f"{rows:,} rows\n| | karat, s | reference | s | ratio | difference |\n|---|---|---|---|---|---|")
    for name, (reference, call) in references.items():
        spec = f"{name}(column(right))"
        ours, result = clock(lambda spec=spec: karat.score(table, spec, keep=False))  # type: ignore[misc]
        theirs, expected = clock(call)
        value = result.values[spec].value
        print(
            f"| {name} | {ours:.3f} | {reference} | {theirs:.3f} | {theirs / ours:.1f} | {abs(value - expected):.1e} |"
        )


if __name__ == "__main__":
    if "--intervals" in sys.argv:
        intervals(int(sys.argv[2]) if len(sys.argv) > 2 else 1_000)
    else:
        speed(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
