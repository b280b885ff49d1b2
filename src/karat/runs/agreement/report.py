"""The result of `karat.agreement`: the coefficients of each pair of raters, a verdict on each score, and its errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from karat.runs.agreement.verdict import Verdict
from karat.stats.agreement.confusion import Confusion
from karat.stats.value import Estimate, spell


@dataclass(frozen=True)
class Pair:
    """Two raters, over all rows or one slice; `first` and `second` are both `people` for people among themselves.

    `figures` has each coefficient by name. `confusion` counts the labels of both (first: rows, second: columns); None
    where they do not label into the same categories.
    """

    first: str
    second: str
    slice: str | None
    figures: Mapping[str, Estimate]
    confusion: Confusion | None

    def as_dict(self) -> dict[str, Any]:
        """The fields in order, as JSON values."""
        counts = None if self.confusion is None else {
            "labels": self.confusion.values.tolist(), "counts": self.confusion.counts.tolist()
        }  # fmt: skip
        figures = {name: each.as_dict() for name, each in self.figures.items()}
        return {
            "first": self.first,
            "second": self.second,
            "slice": self.slice,
            "figures": figures,
            "confusion": counts,
        }


@dataclass(frozen=True)
class Disagreement:
    """A row that a score and people label differently.

    `kind`: the score is above the label (false praise), below it (false blame), or only another (different). `call` is
    the score's label, `labels` those of each annotator who gave one.
    """

    score: str
    kind: Literal["false praise", "false blame", "different"]
    id: str
    question: str | None
    prediction: str | None
    value: float
    call: float
    label: float
    labels: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        """The fields in order, as JSON values."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class Agreement:
    """How far raters agree on `n` rows.

    `labels` has the score of each label's name; it is empty where labels are numbers.
    `pairs`: first all rows, then slices. `verdicts`: one for each score where there are people's labels; `sentences`
    puts each into words. `errors`: the rows that were asked for. `notes`: remarks for the reader.
    """

    scores: tuple[str, ...]
    annotators: tuple[str, ...]
    labels: Mapping[str, float]
    n: int
    pairs: tuple[Pair, ...]
    verdicts: tuple[Verdict, ...]
    sentences: Mapping[str, tuple[str, ...]]
    errors: tuple[Disagreement, ...]
    notes: tuple[str, ...]
    confidence: float

    def pair(self, first: str, second: str = "people", slice: str | None = None) -> Pair:  # noqa: A002
        """The pair of these two raters; `KeyError` where there is none."""
        for each in self.pairs:
            if (each.first, each.second, each.slice) == (first, second, slice):
                return each
        pairs = ", ".join(dict.fromkeys(f"{each.first} with {each.second}" for each in self.pairs))
        raise KeyError(f"no pair {first} with {second} in slice {slice}; there are: {pairs}")

    def as_dict(self) -> dict[str, Any]:
        """The agreement for JSON: what `karat agreement --json` prints."""
        return {
            "scores": list(self.scores),
            "annotators": list(self.annotators),
            "labels": dict(self.labels),
            "n": self.n,
            "confidence": self.confidence,
            "notes": list(self.notes),
            "pairs": [each.as_dict() for each in self.pairs],
            "verdicts": [{**each.as_dict(), "sentences": list(self.sentences[each.score])} for each in self.verdicts],
            "errors": [each.as_dict() for each in self.errors],
        }

    def __repr__(self) -> str:
        return "\n".join([f"<karat.Agreement of {self.n} rows", *self._lines()]) + ">"

    def _lines(self) -> Iterator[str]:
        for sentences in self.sentences.values():
            yield from (f"  {sentence}" for sentence in sentences)
        for each in self.pairs if not self.sentences else ():
            figure = next((name for name, value in each.figures.items() if value.value is not None), None)
            shown = "no estimate" if figure is None else f"{figure} {spell(each.figures[figure].value, '.3f')}"
            yield f"  {each.first} with {each.second}: {shown}"
