"""Certificates of judges: that a share of wrong answers of a class is accepted less often than a limit, and for whom.

Each is an exact test on an exam (`karat.stats.reliability.certificate`), kept in a file with everything of which the
judge's signature is made. With another prompt, model or setting it has lapsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core.errors import DataError, SpecError
from karat.core.metric.metric import Metric
from karat.data.json.objects import to_json
from karat.runs.judge.exam.figures import Exam
from karat.runs.judge.kept_calibration import KeptForm, find_kept, read_kept, save_kept
from karat.stats.reliability.certificate import Certificate


@dataclass(frozen=True)
class _Figures:
    """What a stored certificate says."""

    source: str
    questions: int
    limit: float
    alpha: float
    classes: Mapping[str, Certificate]


_FORM = KeptForm("certificates", "karat judge --exam --certify 0.05 --keep-certificate", _Figures)


def save_certificates(exam: Exam, path: str | Path) -> None:
    """Write the certificates of all judges of an exam to a file of JSON; `SpecError` where it has none."""
    figures = [
        (
            judge.metric,
            {
                "source": exam.name,
                "questions": exam.questions,
                "limit": next(iter(judge.certificates.values())).limit,
                "alpha": judge.alpha,
                "classes": to_json(judge.certificates),
            },
        )
        for judge in exam.judges
        if judge.metric is not None and judge.certificates
    ]
    if not figures:
        raise SpecError("an exam gives certificates where a limit is named: certify=0.05 (--certify 0.05)")
    save_kept(path, _FORM, figures)


def read_certificates(path: str | Path) -> list[dict[str, Any]]:
    """The certificates in a file. Raises `DataError` for a file that `save_certificates` did not write."""
    return read_kept(path, _FORM)


def cite(metric: Metric, kept: Sequence[Mapping[str, Any]], path: str | Path) -> str:
    """What the certificates of a file say of a judge, in a sentence: for which answers, or why they have lapsed.

    Raises `DataError` where the file has none of a judge of this name.
    """
    each, changed = find_kept(metric, kept)
    if each is None:
        raise DataError(f"{path} has no certificate of {metric.name}: it is of {', '.join(k['judge'] for k in kept)}")
    if changed:
        return f"the certificate in {path} has lapsed for {metric.name}: {'; '.join(changed)}; hold an exam again"
    figures = each["figures"]
    passed = {name: Certificate(**_bare(certificate)) for name, certificate in figures["classes"].items()}
    return describe_certificates(passed, figures["limit"], figures["alpha"], figures["questions"])


def _bare(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name != "upper"}


def describe_certificates(certificates: Mapping[str, Certificate], limit: float, alpha: float, questions: int) -> str:
    """Which classes are certified, in a sentence.

    >>> from karat.stats.reliability.certificate import certify_each
    >>> describe_certificates(certify_each({"empty": (0, 90), "hedge": (9, 90)}, 0.05), 0.05, 0.05, 90)
    'certified: accepts < 5 % of wrong answers: empty (α = 0.05 for all together, 90 questions); not certified: hedge'
    """
    passed, others = ([name for name, each in certificates.items() if each.passed is kind] for kind in (True, False))
    rest = f"not certified: {', '.join(others)}"
    if not passed:
        return f"{rest} (limit {100 * limit:g} %, α = {alpha:g}, {questions} questions)"
    level = f"α = {alpha:g} for all together, {questions} questions"
    first = f"certified: accepts < {100 * limit:g} % of wrong answers: {', '.join(passed)} ({level})"
    return f"{first}; {rest}" if others else first
