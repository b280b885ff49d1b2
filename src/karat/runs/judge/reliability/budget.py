"""What to ask next for a sum of money, from an examination of judges that was saved as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core.errors import DataError, SpecError, did_you_mean
from karat.data.json.typed import check_type
from karat.data.storage.files import read_small
from karat.runs.judge.reliability.tables import PANEL
from karat.stats.reliability.components import Components
from karat.stats.reliability.design import Design, best_design

HOW = "karat judge ROWS -m judge:NAME --ask 3 --reword all -o exam.json writes one"


@dataclass(frozen=True)
class _Instrument:
    """The part of an instrument that is read."""

    components: Components


@dataclass(frozen=True)
class _Judge:
    """The part of an examined score that is read."""

    score: str
    instrument: _Instrument | None


@dataclass(frozen=True)
class _Panel:
    """The part of a panel that is read."""

    judges: tuple[str, ...]
    instrument: _Instrument | None


@dataclass(frozen=True)
class _Examination:
    """The part of an examination that is read."""

    judges: tuple[_Judge, ...]
    panel: _Panel | None


@dataclass(frozen=True)
class Prices:
    """What one more question costs, and one verdict: by the name of a judge, or `""` for all others.

    A name may be a part of the judge's, such as its model.
    """

    question: float
    calls: Mapping[str, float]

    def of_judges(self, judges: Sequence[str]) -> dict[str, float]:
        """The price of a verdict by each judge.

        Raises `SpecError` for a judge without a price, and for a name that is not one judge's.

        >>> list(Prices(0.0, {"": 0.01, "large": 0.05}).of_judges(["correctness(model='large')", "style"]).values())
        [0.05, 0.01]
        """
        by_judge = dict.fromkeys(judges, self.calls.get(""))
        for name in filter(None, self.calls):
            fitting = [judge for judge in judges if name == judge] or [judge for judge in judges if name in judge]
            if len(fitting) != 1:
                there = f"there are {', '.join(judges)}{did_you_mean(name, judges)}"
                raise SpecError(f"the price of {name!r}: the name of one judge is expected; {there}")
            by_judge[fitting[0]] = self.calls[name]
        if lacking := [judge for judge, price in by_judge.items() if price is None]:
            raise SpecError(f"what does a verdict by {lacking[0]} cost? --price-call 0.002")
        return {judge: price for judge, price in by_judge.items() if price is not None}


def plan_budget(path: str | Path, budget: float, prices: Prices, *, confidence: float = 0.95) -> dict[str, Design]:
    """For each judge of an examination, and for all together, what to ask next with so much money.

    `path`: the examination as `Examination.save` writes it to JSON. Raises `DataError` for another file, for an
    examination that does not say what its verdicts vary by, and where the budget buys nothing that helps; `SpecError`
    for prices that are lacking.
    """
    measured = _read(path)
    each = prices.of_judges(list(dict.fromkeys(judge for judges, _ in measured.values() for judge in judges)))
    plans, errors = dict[str, Design](), list[DataError]()
    for name, (judges, components) in measured.items():
        calls = {judge: each[judge] for judge in judges}
        try:
            plans[name] = best_design(components, budget, question=prices.question, calls=calls, confidence=confidence)
        except DataError as error:
            errors.append(error)
    if not plans:
        raise errors[0]
    return plans


def _read(path: str | Path) -> dict[str, tuple[Sequence[str], Components]]:
    """The judges behind each mean of verdicts, and what it varies by."""
    expected = f"{path}: an examination of judges as JSON is expected; {HOW}"
    try:
        content = json.loads(read_small(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise DataError(expected) from None
    if not isinstance(content, dict) or not {"judges", "panel"} <= content.keys():
        raise DataError(expected)
    check_type(content, _Examination, f"{path} is not an examination as karat judge writes it")
    parts: dict[str, tuple[Sequence[str], Any]] = {
        each["score"]: ([each["score"]], each["instrument"]) for each in content["judges"]
    }
    if (panel := content["panel"]) is not None:
        parts[PANEL] = (panel["judges"], panel["instrument"])
    measured = {
        name: (judges, _components(instrument["components"]))
        for name, (judges, instrument) in parts.items()
        if instrument is not None
    }
    if not measured:
        raise DataError(f"{path}: each row has one verdict, which does not show what verdicts vary by; {HOW}")
    return measured


def _components(stored: Mapping[str, Any]) -> Components:
    lists = {"asked": tuple(stored["asked"]), "negative": tuple(stored["negative"])}
    return Components(rows=stored["rows"], levels=stored["levels"], variances=stored["variances"], **lists)


def describe_design(design: Design) -> str:
    """The design in one line.

    >>> describe_design(Design(40, 2, 1, 1, 19.8, 0.01, 0.017, 0.021, 0.034, ("judge:correctness",), 0.95))
    '40 more questions, 2 prompts, 1 verdict with each: ± 0.021 instead of ± 0.034, for $19.8'
    """
    by = f", {design.judges} judges ({', '.join(design.asked_by)})" if design.judges > 1 else ""
    what = f"{design.questions} more question{_s(design.questions)}, {design.prompts} prompt{_s(design.prompts)}{by}"
    verdicts = f"{design.repeats} verdict{_s(design.repeats)} with each"
    wide = f"± {design.half_width:.3f} instead of ± {design.half_width_now:.3f}"
    return f"{what}, {verdicts}: {wide}, for ${design.cost:.4g}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
